import type { RouteDoc } from "../../internal/doors/rest/route-doc.ts";

/** What is said of a route that only a test serves. */
export const anyDoc: RouteDoc = {
  tag: "Documentation",
  id: "planted",
  summary: "There for a test",
  responses: { 200: { description: "Anything" } },
};
