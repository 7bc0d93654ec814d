import { defined } from "../../../base/defined.ts";
import { type App, inParts, type List, type Query, routes, usePaged } from "../../api/mod.ts";
import type { Listed } from "./listed.ts";

const max = 20_000;
const pageSize = 1_000;
const betweenIds = "&ids=".length;

/** Enrollments in a state, newest first. What events change costs one request for up to 100 of them. */
export function useEnrollments(app: App, state: Listed["state"] | "all"): Query<List<Listed>> {
  const input = { state, limit: pageSize };
  return usePaged<Listed>(
    app,
    state,
    {
      page: (cursor, signal) =>
        app.client.page(routes.listEnrollments, { ...input, ...defined({ cursor }) }, signal),
      these: (all, signal) =>
        inParts(all, betweenIds, async (ids) => {
          return (await app.client.page(routes.listEnrollments, { ...input, ids }, signal)).items;
        }),
      changedBy: ({ data: { id } }) => (typeof id === "string" ? [id] : []),
      idOf: ({ id }) => id,
      placeOf: ({ id, created_at: at }) => `${at} ${id}`,
      falls: true,
      max,
    },
    ["svc/enrollment/"],
  );
}
