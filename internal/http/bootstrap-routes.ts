import { type BootstrapDocument, documentTag } from "../bootstrap/document.ts";
import { json, type Route } from "./route.ts";

/** The public bootstrap document (specification, `GET /api/v1/enroll/ca`). */
export function bootstrapRoutes(document: BootstrapDocument): Route[] {
  const headers = { "Cache-Control": "public, max-age=60", ETag: documentTag(document) };
  return [
    {
      method: "GET",
      path: "/api/v1/enroll/ca",
      auth: "none",
      budget: "relaxed",
      handle: (call) =>
        call.headers.get("if-none-match") === headers.ETag
          ? new Response(null, { status: 304, headers })
          : json(200, document, headers),
    },
  ];
}
