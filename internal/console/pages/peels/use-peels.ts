import { useRef } from "preact/hooks";
import { type App, allPages, type List, type Query, routes, useQuery, withItems } from "../../api/mod.ts";
import type { ListedPeel } from "./columns.tsx";

const mostPeels = 50_000;
const pageSize = 1_000;
/** Of so many changed peels each is read; of more, the whole list. */
const mostChanged = 1_000;
const together = 100;
/** The address of a request and its other headers have at most 16 KiB. */
const mostText = 6_000;
const changes = ["svc/peel/", "svc/enrollment/", "svc/compliance/"];

const idOf = ({ peel_id: id }: ListedPeel) => id;

/**
 * The peels of a target, by id. What events change costs one request for up to 100 peels. Every 15 seconds, the peels
 * in sight are read again, and one page of 1,000 after the other, for what no event tells.
 */
export function usePeels(
  app: App,
  target: string,
  inSight: { current: readonly ListedPeel[] },
): Query<List<ListedPeel>> {
  const behind = useRef<{ target: string; cursor: string | undefined }>({ target, cursor: undefined });
  const chosen = target === "" ? {} : { target };
  const some = async (list: List<ListedPeel>, ids: Iterable<string>, signal: AbortSignal) => {
    let next = list;
    for (const part of partsOf(ids)) {
      const these = `L@${part.join(",")}`;
      const input = { limit: pageSize, target: target === "" ? these : `${these} and (${target})` };
      const asked = new Set(part);
      next = withItems(next, (id) => asked.has(id), (await allOf(app, input, signal)).items, idOf);
    }
    return next;
  };
  return useQuery<List<ListedPeel>>(
    app,
    target,
    {
      load: (signal) => allOf(app, { limit: pageSize, ...chosen }, signal),
      async change(before, events, signal) {
        const ids = new Set(events.flatMap(({ peel_id: id }) => id ?? []));
        return ids.size > mostChanged ? undefined : some(before, ids, signal);
      },
      async renew(before, signal) {
        if (behind.current.target !== target) behind.current = { target, cursor: undefined };
        const { cursor } = behind.current;
        const page = await app.client.page(
          routes.listPeels,
          { limit: pageSize, ...chosen, ...(cursor === undefined ? {} : { cursor }) },
          signal,
        );
        // Where a list ends that is not known as a whole, it begins again.
        const end = before.items.at(-1);
        const isLast = page.next === undefined || end === undefined || page.next >= idOf(end);
        behind.current = { target, cursor: isLast ? undefined : page.next };
        const covers = (id: string) => id > (cursor ?? "") && (page.next === undefined || id <= page.next);
        const next = withItems(before, covers, page.items, idOf);
        return some(
          next,
          inSight.current.map(idOf).filter((id) => !covers(id)),
          signal,
        );
      },
    },
    changes,
  );
}

const allOf = (app: App, input: { limit: number; target?: string }, signal: AbortSignal) =>
  allPages(app, routes.listPeels, input, { most: mostPeels, signal });

/** Ids in parts that a request can name. */
function* partsOf(ids: Iterable<string>): Generator<string[]> {
  let part: string[] = [];
  let text = 0;
  for (const id of ids) {
    // A comma between two has three characters in an address.
    text += id.length + 3;
    if (part.length === together || text > mostText) {
      yield part;
      part = [];
      text = id.length + 3;
    }
    part.push(id);
  }
  if (part.length > 0) yield part;
}
