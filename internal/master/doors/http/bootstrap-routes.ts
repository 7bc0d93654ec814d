import { type BootstrapDocument, documentTag } from "../../../identity/bootstrap/document.ts";
import { enrollDocs } from "./enroll-docs.ts";
import { json, type Route } from "./route.ts";

/**
 * The public bootstrap document (specification, `GET /api/v1/enroll/ca`).
 *
 * @param document the one to serve as of now
 */
export function bootstrapRoutes(document: () => BootstrapDocument): Route[] {
  const tags = new WeakMap<BootstrapDocument, string>();
  return [
    {
      method: "GET",
      path: "/api/v1/enroll/ca",
      auth: "none",
      budget: "relaxed",
      doc: enrollDocs.ca,
      handle(call) {
        const served = document();
        const tag = tags.get(served) ?? documentTag(served);
        tags.set(served, tag);
        const headers = { "Cache-Control": "public, max-age=60", ETag: tag };
        return isNoneMatch(call.headers.get("if-none-match"), tag)
          ? new Response(null, { status: 304, headers })
          : json(200, served, headers);
      },
    },
  ];
}

const entityTag = /(?:W\/)?("[\x21\x23-\x7e\x80-\xff]*")/g;
const entityTags = new RegExp(
  `^[ \\t,]*${entityTag.source}(?:[ \\t]*,[ \\t]*(?:${entityTag.source})?)*[ \\t]*$`,
);

/**
 * Whether the client has this representation already: `*`, or a list of entity tags of which one is
 * equal, weak or not (RFC 9110 section 13.1.2). A malformed header counts as none.
 */
function isNoneMatch(header: string | null, tag: string): boolean {
  if (header === null) return false;
  const value = header.trim();
  if (value === "*") return true;
  if (!entityTags.test(value)) return false;
  return [...value.matchAll(entityTag)].some(([, opaque]) => opaque === tag);
}
