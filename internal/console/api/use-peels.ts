import { defined } from "../../base/defined.ts";
import type { ShownEvent } from "../../fleet/events/mod.ts";
import { allPages } from "./all-pages.ts";
import type { App } from "./app.ts";
import { commaLength, idsWithin, inParts, targetOf } from "./in-parts.ts";
import type { List, Order } from "./list.ts";
import type { Paged } from "./paged.ts";
import type { Query } from "./query.ts";
import { routes } from "./routes.ts";
import { usePaged } from "./use-paged.ts";

/** A peel as masters list it. */
export type ListedPeel = NonNullable<(typeof routes.listPeels)["types"]>["answer"][number];

const max = 50_000;
const pageSize = 1_000;
const changes = ["svc/peel/", "svc/enrollment/", "svc/compliance/"];

/**
 * The peels of a target, by id. What events change costs one request for up to 100 peels.
 *
 * @param target an expression; empty for all peels
 * @param options.inSight those that the reader sees now
 * @param options.off nothing is read
 */
export function usePeels(
  app: App,
  target: string,
  { inSight, off = false }: { inSight?: { readonly current: readonly ListedPeel[] }; off?: boolean } = {},
): Query<List<ListedPeel>> {
  const input = { limit: pageSize, ...(target === "" ? {} : { target }) };
  const paged: Paged<ListedPeel> = {
    page: (cursor, signal) => app.client.page(routes.listPeels, { ...input, ...defined({ cursor }) }, signal),
    these: (ids, signal) =>
      inParts(
        ids,
        commaLength,
        async (part) => {
          const these = { limit: pageSize, target: targetOf(part, target) };
          return (await allPages(app, routes.listPeels, these, { max, signal })).items;
        },
        idsWithin(target),
      ),
    changedBy: peelOf,
    ...byPeel,
    max,
    ...defined({ inSight }),
  };
  return usePaged(app, target, off ? undefined : paged, changes);
}

/** Masters list peels by their encoded ids. */
export const byPeel: Order<{ peel_id: string }> = {
  idOf: ({ peel_id: id }) => id,
  placeOf: ({ peel_id: id }) => id,
  falls: false,
};

/** The encoded id of the peel that an event is about. */
export const peelOf = ({ peel_id: id }: Pick<ShownEvent, "peel_id">): readonly string[] =>
  id === undefined ? [] : [id];
