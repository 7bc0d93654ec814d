import type { App } from "./app.ts";
import type { List } from "./list.ts";
import type { Route } from "./route.ts";

/**
 * All items of a list, page after page.
 *
 * @param most items at which it stops; the second part of the answer says whether there are more
 */
export async function allPages<Input extends { cursor?: string | undefined }, Item>(
  { client }: Pick<App, "client">,
  route: Route<Input, Item[]>,
  input: Input,
  { most, signal }: { most: number; signal?: AbortSignal },
): Promise<List<Item>> {
  const items: Item[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await client.page(route, cursor === undefined ? input : { ...input, cursor }, signal);
    items.push(...page.items);
    cursor = page.next;
    if (cursor === undefined) return { items, more: false };
    if (items.length >= most) return { items, more: true };
  }
}
