import type { Doors } from "../operation/door-table/mod.ts";
import type * as operations from "./operations.ts";

const read = { method: "GET", tag: "Peels" } as const;
/** Not GET: nothing between may repeat what is recorded, or keep the answer. */
const reveal = { method: "POST", tag: "Peels" } as const;
const answers = {
  200: "The settings",
  400: "A parameter is malformed",
  404: "The peel is not a member of the fleet, or it lacks this setting, or has stored no facts",
  409: "The settings of the peel cannot be compiled; the message names file and line",
  503: "This master has no settings files",
} as const;

/** How the settings of peels are reached. */
export const settingDoors = {
  showSettings: {
    rest: { ...read, path: "/api/v1/peels/:id/settings", show: "value", answers },
    bus: { subject: "svc.admin.settings.show" },
  },
  explainSettings: {
    rest: { ...read, path: "/api/v1/peels/:id/settings/explain", answers },
    bus: { subject: "svc.admin.settings.explain" },
  },
  listKinds: {
    rest: {
      ...{ ...read, path: "/api/v1/settings/kinds" },
      answers: { 200: "The kinds of peels", 400: "A parameter is malformed" },
    },
    bus: { subject: "svc.admin.settings.kinds" },
  },
  revealSettings: {
    rest: { ...reveal, path: "/api/v1/peels/:id/settings/reveal", show: "value", answers },
    bus: { subject: "svc.admin.settings.reveal" },
  },
  revealExplained: {
    rest: { ...reveal, path: "/api/v1/peels/:id/settings/explain/reveal", answers },
    bus: { subject: "svc.admin.settings.reveal-explained" },
  },
} as const satisfies Doors<typeof operations>;
