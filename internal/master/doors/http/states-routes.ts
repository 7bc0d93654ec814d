import { type ComplianceDeps, countStates, listDrift, showStates } from "../../../fleet/compliance/mod.ts";
import type { HttpDoor } from "./bind.ts";
import type { Route } from "./route.ts";
import { notRead } from "./words.ts";

const read = { method: "GET", auth: "bearer", budget: "relaxed", tag: "States" } as const;
/** As much as a page over the bus has by default. */
const pageBytes = 1024 * 1024;
const malformed = "A parameter is malformed";

/** The operator's routes to what the last state runs of peels did. */
export function statesRoutes({ bind }: HttpDoor, deps: ComplianceDeps): Route[] {
  return [
    bind(countStates, deps, {
      ...read,
      path: "/api/v1/states/status",
      id: "countStates",
      answers: { 200: "How many peels are as described", 400: malformed, 503: notRead },
    }),
    bind(
      listDrift,
      { ...deps, answerBytes: () => pageBytes },
      {
        ...read,
        path: "/api/v1/states/drift",
        id: "listDrift",
        page: "peels",
        answers: { 200: "One page of them", 400: malformed, 503: notRead },
      },
    ),
    bind(showStates, deps, {
      ...read,
      path: "/api/v1/peels/:id/states",
      id: "showStates",
      show: "peel",
      answers: {
        200: "What its last state run did",
        400: malformed,
        404: "The peel is not a member of the fleet",
        503: notRead,
      },
    }),
  ];
}
