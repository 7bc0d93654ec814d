import type { Doors } from "../operation/door-table/mod.ts";
import type * as operations from "./operations.ts";

/** How it is reached which peels a target means. */
export const targetDoors = {
  resolveTarget: {
    rest: {
      ...{ method: "GET", path: "/api/v1/targets", tag: "Peels", readsAll: true },
      // What a page reads at once while someone types: the first thousand peels or more, and how many there are.
      answerBytes: 64 * 1024,
      answers: {
        200: "The peels, by id, and whether they are connected",
        400: "The target is malformed; the message names the column",
      },
    },
    bus: {
      ...{ subject: "svc.target.resolve", queue: "svc-target-resolvers" },
      // An operator who signs what runs on peels first resolves which peels these are.
      also: ["jobs run", "rollouts start", "upgrades start"],
    },
    hints: { svc: { not_found: { about: "no peel matches", say: "see svc peels list" } } },
  },
} as const satisfies Doors<typeof operations>;
