import { defined } from "../../../base/defined.ts";
import {
  type App,
  allPages,
  byPeel,
  commaLength,
  idsWithin,
  inParts,
  type List,
  peelOf,
  type Query,
  routes,
  targetOf,
  usePaged,
} from "../../api/mod.ts";

/** A peel with what its last state run found, as masters list it. */
export type DriftedPeel = NonNullable<(typeof routes.listDrift)["types"]>["answer"][number];

type Status = DriftedPeel["status"];

const max = 5_000;
const pageSize = 1_000;

/**
 * The peels of a target whose last state run has a status. What events change costs one request for up to 100 peels.
 *
 * @param target an expression; empty for all peels
 * @param status absent for those that are not as described
 */
export function useDrift(app: App, target: string, status?: Status): Query<List<DriftedPeel>> {
  const having = { limit: pageSize, ...defined({ status }) };
  const input = { ...having, ...(target === "" ? {} : { target }) };
  return usePaged<DriftedPeel>(
    app,
    `${status ?? "differ"} ${target}`,
    {
      page: (cursor, signal) =>
        app.client.page(routes.listDrift, { ...input, ...defined({ cursor }) }, signal),
      these: (ids, signal) =>
        inParts(
          ids,
          commaLength,
          async (part) => {
            const these = { ...having, target: targetOf(part, target) };
            return (await allPages(app, routes.listDrift, these, { max, signal })).items;
          },
          idsWithin(target),
        ),
      changedBy: peelOf,
      ...byPeel,
      max,
    },
    ["svc/compliance/"],
  );
}
