import type { App } from "./app.ts";
import type { List } from "./list.ts";
import { everyPage } from "./paged.ts";
import type { Route } from "./route.ts";

/**
 * All items of a list, page after page.
 *
 * @param max items at which it stops; the second part of the answer says whether there are more
 */
export function allPages<Input extends { cursor?: string | undefined }, Item>(
  { client }: Pick<App, "client">,
  route: Route<Input, Item[]>,
  input: Input,
  { max, signal }: { max: number; signal?: AbortSignal },
): Promise<List<Item>> {
  return everyPage(
    (cursor) => client.page(route, cursor === undefined ? input : { ...input, cursor }, signal),
    max,
  );
}
