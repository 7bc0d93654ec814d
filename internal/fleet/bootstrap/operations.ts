import * as v from "valibot";
import { type BootstrapDocument, documentTag } from "../../identity/bootstrap/mod.ts";
import { described, integer, operation, timestamp, titled } from "../operation/mod.ts";

export interface FleetDeps {
  /** The current document. */
  document(): BootstrapDocument;
}

export const describeFleet = operation({
  name: "fleet.describe",
  kind: "read",
  summary: "Get the CA root of the fleet and the addresses of the bus",
  admits: ["anonymous"],
  input: v.strictObject({}),
  output: v.object({
    document: titled(
      "BootstrapDocument",
      v.object({
        v: described(integer, "Version of the form, 1; fields may be added to it"),
        ca_bundle_pem: described(v.string(), "The CA root in PEM; empty when the CA is external"),
        fingerprint: described(v.string(), "SPKI pin of the root; empty when the CA is external"),
        nats_urls: described(v.array(v.string()), "Addresses of the bus"),
        issued_at: timestamp,
        command_keys: described(v.array(v.string()), "Public keys that sign commands"),
      }),
    ),
    /** The entity tag of its content. */
    tag: v.string(),
  }),
  touches: () => ({ fleet: true }),
  async run(deps: FleetDeps) {
    const document = deps.document();
    return { document, tag: documentTag(document) };
  },
});
