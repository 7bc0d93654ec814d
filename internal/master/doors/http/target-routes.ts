import { type ResolveDeps, resolveTarget } from "../../../fleet/targeting/mod.ts";
import type { HttpDoor } from "./bind.ts";
import type { Route } from "./route.ts";
import { notRead } from "./words.ts";

/** What a page reads at once while someone types: the first thousand peels or more, and how many there are. */
const pageBytes = 64 * 1024;

/** Which peels a target means, before something is started on them. */
export function targetRoutes({ bind }: HttpDoor, { resolver }: Pick<ResolveDeps, "resolver">): Route[] {
  return [
    bind(
      resolveTarget,
      { resolver, answerBytes: () => pageBytes },
      {
        method: "GET",
        path: "/api/v1/targets",
        auth: "bearer",
        budget: "relaxed",
        tag: "Peels",
        id: "resolveTarget",
        answers: {
          200: "The peels, by id, and whether they are connected",
          400: "The target is malformed; the message names the column",
          503: notRead,
        },
      },
    ),
  ];
}
