import type { Doors } from "../operation/door-table/mod.ts";
import type * as operations from "./operations.ts";

const open = { method: "GET", auth: "none", tag: "Enrollment" } as const;

/** How the public documents of a fleet are reached (specification, `GET /api/v1/enroll/ca`). */
export const bootstrapDoors = {
  getBootstrapDocument: {
    rest: {
      ...{ ...open, path: "/api/v1/enroll/ca", show: "document" },
      answers: { 200: "The document", 304: "The client already has it" },
      requestHeaders: { "If-None-Match": "Entity tags of the documents the client has" },
      headers: { ETag: "Entity tag of the document's content" },
    },
  },
  getSuccession: {
    rest: {
      ...{ ...open, path: "/api/v1/enroll/succession" },
      answers: { 200: "The statement", 404: "This fleet does not succeed another one" },
    },
  },
} as const satisfies Doors<typeof operations>;
