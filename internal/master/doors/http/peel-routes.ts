import {
  countFacts,
  type FactsDeps,
  type FactsHistoryDeps,
  factsHistory,
  findFacts,
  getFacts,
  listPeels,
  type PeelsDeps,
  showPeel,
} from "../../../fleet/peels/mod.ts";
import type { HttpDoor } from "./bind.ts";
import type { Route } from "./route.ts";
import { notRead } from "./words.ts";

const read = { method: "GET", auth: "bearer", budget: "relaxed", tag: "Peels" } as const;
/** As much as a page over the bus has by default. */
const pageBytes = 1024 * 1024;
const malformed = "A parameter is malformed";
const noFacts = "The peel is not a member of the fleet, or it has stored no facts";

/** The operator's routes to what the masters know of peels. */
export function peelRoutes(
  { bind }: HttpDoor,
  deps: PeelsDeps & FactsDeps & Omit<FactsHistoryDeps, "answerBytes">,
): Route[] {
  const limited = { ...deps, answerBytes: () => pageBytes };
  return [
    bind(listPeels, limited, {
      ...read,
      path: "/api/v1/peels",
      id: "listPeels",
      page: "peels",
      answers: { 200: "One page of them", 400: malformed, 503: notRead },
    }),
    bind(showPeel, deps, {
      ...read,
      path: "/api/v1/peels/:id",
      id: "showPeel",
      show: "peel",
      answers: { 200: "The peel", 404: "The peel is not a member of the fleet", 503: notRead },
    }),
    bind(getFacts, deps, {
      ...read,
      path: "/api/v1/peels/:id/facts",
      id: "getFacts",
      show: "value",
      answers: { 200: "All facts, or the one that was asked for", 404: `${noFacts}, or not this one` },
    }),
    bind(factsHistory, limited, {
      ...read,
      path: "/api/v1/peels/:id/facts/history",
      id: "getFactsHistory",
      answers: { 200: "The changes", 400: malformed, 404: noFacts },
    }),
    bind(findFacts, limited, {
      ...read,
      path: "/api/v1/facts",
      id: "findFacts",
      page: "peels",
      answers: {
        200: "One page of the peels",
        400: "A parameter is malformed, or no peel has such a fact",
        503: notRead,
      },
    }),
    bind(countFacts, deps, {
      ...read,
      path: "/api/v1/facts/count",
      id: "countFacts",
      answers: {
        200: "The groups",
        400: "A parameter is malformed, or no peel has such a fact",
        503: notRead,
      },
    }),
  ];
}
