import {
  explainSettings,
  revealExplained,
  revealSettings,
  type SettingsDeps,
  showSettings,
} from "../../../fleet/settings/mod.ts";
import type { HttpDoor } from "./bind.ts";
import type { Route } from "./route.ts";

const read = { method: "GET", auth: "bearer", budget: "relaxed", tag: "Peels" } as const;
/** Not GET: nothing between may repeat what is recorded, or keep the answer. */
const reveal = { method: "POST", auth: "bearer", budget: "relaxed", tag: "Peels" } as const;
const mostBytes = 1024 * 1024;

const answers = {
  200: "The settings",
  400: "A parameter is malformed",
  404: "The peel is not a member of the fleet, or it lacks this setting, or has stored no facts",
  409: "The settings of the peel cannot be compiled; the message names file and line",
  503: "This master has no settings files",
} as const;

/** The operator's routes to the settings of peels. */
export function settingsRoutes({ bind }: HttpDoor, deps: Omit<SettingsDeps, "answerBytes">): Route[] {
  const limited = { ...deps, answerBytes: () => mostBytes };
  return [
    bind(showSettings, limited, {
      ...{ ...read, path: "/api/v1/peels/:id/settings", id: "showSettings", show: "value", answers },
    }),
    bind(explainSettings, limited, {
      ...{ ...read, path: "/api/v1/peels/:id/settings/explain", id: "explainSettings", answers },
    }),
    bind(revealSettings, limited, {
      ...{
        ...reveal,
        path: "/api/v1/peels/:id/settings/reveal",
        id: "revealSettings",
        show: "value",
        answers,
      },
    }),
    bind(revealExplained, limited, {
      ...{ ...reveal, path: "/api/v1/peels/:id/settings/explain/reveal", id: "revealExplained", answers },
    }),
  ];
}
