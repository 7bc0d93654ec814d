import { listPeels, type PeelsDeps, showPeel } from "../../../fleet/peels/mod.ts";
import type { HttpDoor } from "./bind.ts";
import type { Route } from "./route.ts";
import { notRead } from "./words.ts";

const read = { method: "GET", auth: "bearer", budget: "relaxed", tag: "Peels" } as const;
/** As much as a page over the bus has by default. */
const pageBytes = 1024 * 1024;

/** The operator's routes to what the masters know of peels. */
export function peelRoutes({ bind }: HttpDoor, deps: PeelsDeps): Route[] {
  return [
    bind(
      listPeels,
      { ...deps, answerBytes: () => pageBytes },
      {
        ...read,
        path: "/api/v1/peels",
        id: "listPeels",
        page: "peels",
        answers: { 200: "One page of them", 400: "A parameter is malformed", 503: notRead },
      },
    ),
    bind(showPeel, deps, {
      ...read,
      path: "/api/v1/peels/:id",
      id: "showPeel",
      show: "peel",
      answers: { 200: "The peel", 404: "The fleet has no such member", 503: notRead },
    }),
  ];
}
