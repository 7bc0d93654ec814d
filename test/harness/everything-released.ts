import type { Rules } from "../../internal/agent/consent/signer.ts";

/** The rules of a peel for which all files are released, and on which operators and administrators may request all. */
export const everythingReleased: Pick<Rules, "operatorRoles" | "releaseRoles" | "releases"> = {
  operatorRoles: new Map([
    ["operator", ["*"]],
    ["admin", ["*"]],
  ]),
  releaseRoles: [],
  releases: { records: new Map(), newest: () => ({ reason: undefined }), allows: () => true },
};
