import { type InputSchema, parse, type RawRequest } from "../../fleet/operation/mod.ts";
import { json } from "./route.ts";
import type { RouteDoc } from "./route-doc.ts";

/** The descriptions of the parameters of every list, in addition to their schemas. */
export const pageParameters = {
  cursor: { description: "Where the page starts, from the Link header of the previous page" },
} as const satisfies RouteDoc["parameters"];

/** The header of a page that is not the last. */
export const nextPage = { Link: '`<address of the next page>; rel="next"`; absent on the last page' };

/** A page as JSON, with the address of the next one in the Link header (RFC 8288) when there is one. */
export function pageResponse(
  { input }: { input: InputSchema },
  raw: RawRequest,
  answer: Readonly<Record<string, unknown>>,
  { path, page }: { path: string; page: string },
): Response {
  const { next } = answer;
  if (typeof next !== "string") return json(200, answer[page]);
  const { cursor: _, ...chosen } = parse(input, raw) as Record<string, unknown>;
  const texts = Object.entries(chosen).map(([name, value]) => [name, String(value)]);
  const query = new URLSearchParams({ ...Object.fromEntries(texts), cursor: next });
  return json(200, answer[page], { Link: `<${path}?${query}>; rel="next"` });
}
