import { listMasters, type MastersDeps } from "../../../fleet/masters/mod.ts";
import type { HttpDoor } from "./bind.ts";
import type { Route } from "./route.ts";
import { notRead } from "./words.ts";

/** The operator's route to the masters themselves. */
export function masterRoutes({ bind }: HttpDoor, deps: MastersDeps): Route[] {
  return [
    bind(listMasters, deps, {
      auth: "bearer",
      budget: "relaxed",
      tag: "Masters",
      method: "GET",
      path: "/api/v1/masters",
      id: "listMasters",
      answers: { 200: "The masters, and who holds which lease", 503: notRead },
    }),
  ];
}
