import { useRef } from "preact/hooks";
import type { App } from "./app.ts";
import type { List } from "./list.ts";
import { type Paged, pagedReading, type Renewal } from "./paged.ts";
import { type Query, useQuery } from "./query.ts";

/**
 * Keeps a list that comes in pages true for a page: what an event changes costs a request for that.
 *
 * @param key which list it is: for another one, nothing is known yet
 * @param paged absent means that nothing is read
 * @param on beginnings of tags of events that change it
 */
export function usePaged<Item>(
  app: Pick<App, "clock" | "live">,
  key: string,
  paged: Paged<Item> | undefined,
  on: readonly string[],
): Query<List<Item>> {
  const renewal = useRef<Renewal<Item> & { key: string }>({ key, behind: undefined });
  if (renewal.current.key !== key) renewal.current = { key, behind: undefined };
  return useQuery(app, key, paged && pagedReading(paged, renewal.current), on);
}
