import { type ExportDeps, listPrometheusTargets } from "../../../fleet/exports/mod.ts";
import type { HttpDoor } from "./bind.ts";
import type { Route } from "./route.ts";
import { notRead } from "./words.ts";

/** The routes that other tools read the fleet by. */
export function exportRoutes({ bind }: HttpDoor, deps: ExportDeps): Route[] {
  return [
    bind(listPrometheusTargets, deps, {
      method: "GET",
      auth: "bearer",
      budget: "relaxed",
      tag: "Peels",
      path: "/api/v1/prometheus/targets",
      id: "listPrometheusTargets",
      show: "targets",
      answers: { 200: "All of them", 503: notRead },
    }),
  ];
}
