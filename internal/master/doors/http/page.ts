import { SvcError } from "../../../base/errors.ts";
import { json } from "./route.ts";
import type { RouteDoc } from "./route-doc.ts";

const defaultLimit = 500;
const maxLimit = 5000;

/** The parameters of every list. */
export const pageParameters = {
  limit: {
    description: "How many at most",
    schema: { type: "integer", minimum: 1, maximum: maxLimit, default: defaultLimit },
  },
  cursor: { description: "Where the page begins, from the Link header of the one before" },
} as const satisfies RouteDoc["parameters"];

/** The header of a page that is not the last. */
export const nextPage = { Link: '`<address of the next page>; rel="next"`; absent on the last page' };

/** Which part of a list a request asks for. */
export interface Page {
  limit: number;
  /** Id of the last item of the page before. */
  after?: string;
}

/** Reads `limit` and `cursor`. @throws SvcError `bad_request` */
export function pageOf(query: URLSearchParams, isCursor: (text: string) => boolean): Page {
  const limit = limitOf(query.get("limit"));
  const after = query.get("cursor");
  if (after === null) return { limit };
  if (isCursor(after)) return { limit, after };
  throw new SvcError("bad_request", "cursor must come from the Link header of a page");
}

/**
 * A page as JSON, with the address of the next one in the Link header (RFC 8288) when there is one.
 *
 * @param found one item more than the page holds when the list goes on
 * @param query what else the next request must say
 */
export function pageResponse<T>(
  found: readonly T[],
  page: Page,
  next: { path: string; query: Readonly<Record<string, string>>; idOf(item: T): string },
): Response {
  const shown = found.slice(0, page.limit);
  const last = shown.at(-1);
  if (found.length <= page.limit || last === undefined) return json(200, shown);
  const query = new URLSearchParams({ ...next.query, limit: String(page.limit), cursor: next.idOf(last) });
  return json(200, shown, { Link: `<${next.path}?${query}>; rel="next"` });
}

function limitOf(text: string | null): number {
  if (text === null) return defaultLimit;
  const limit = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (limit < 1 || limit > maxLimit) throw new SvcError("bad_request", `limit must be 1 to ${maxLimit}`);
  return limit;
}
