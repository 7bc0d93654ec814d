import {
  describeFleet,
  describeSuccession,
  type FleetDeps,
  type SuccessionDeps,
} from "../../../fleet/bootstrap/mod.ts";
import type { HttpDoor } from "./bind.ts";
import { json, type Route } from "./route.ts";

/** The public documents of a fleet: `GET /api/v1/enroll/ca` (specification), and its succession. */
export function bootstrapRoutes({ bind }: HttpDoor, deps: FleetDeps & SuccessionDeps): Route[] {
  return [
    bind(describeFleet, deps, {
      method: "GET",
      path: "/api/v1/enroll/ca",
      auth: "none",
      budget: "relaxed",
      tag: "Enrollment",
      id: "getBootstrapDocument",
      answers: { 200: "The document", 304: "The client already has it" },
      requestHeaders: { "If-None-Match": "Entity tags of the documents the client has" },
      headers: { ETag: "Entity tag of the document's content" },
      show: "document",
      respond({ document, tag }, call) {
        const headers = { "Cache-Control": "public, max-age=60", ETag: tag };
        return isNoneMatch(call.headers.get("if-none-match"), tag)
          ? new Response(null, { status: 304, headers })
          : json(200, document, headers);
      },
    }),
    bind(describeSuccession, deps, {
      method: "GET",
      path: "/api/v1/enroll/succession",
      auth: "none",
      budget: "relaxed",
      tag: "Enrollment",
      id: "getSuccession",
      answers: { 200: "The statement", 404: "This fleet does not succeed another one" },
    }),
  ];
}

const entityTag = /(?:W\/)?("[\x21\x23-\x7e\x80-\xff]*")/g;
const entityTags = new RegExp(
  `^[ \\t,]*${entityTag.source}(?:[ \\t]*,[ \\t]*(?:${entityTag.source})?)*[ \\t]*$`,
);

/**
 * Whether the client already has this representation: `*`, or a list of entity tags of which one is equal,
 * weak or not (RFC 9110 section 13.1.2). A malformed header counts as none.
 */
function isNoneMatch(header: string | null, tag: string): boolean {
  if (header === null) return false;
  const value = header.trim();
  if (value === "*") return true;
  if (!entityTags.test(value)) return false;
  return [...value.matchAll(entityTag)].some(([, opaque]) => opaque === tag);
}
