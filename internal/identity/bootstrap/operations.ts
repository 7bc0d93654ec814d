import * as v from "valibot";
import { operation } from "../../fleet/operation/operation.ts";
import { described, integer, titled } from "../../fleet/operation/schema.ts";
import type { BootstrapDocument } from "./document.ts";

export const describeFleet = operation({
  name: "fleet.describe",
  kind: "read",
  summary: "Get the CA root of the fleet and the addresses of the bus",
  admits: ["anonymous"],
  input: v.strictObject({}),
  output: titled(
    "BootstrapDocument",
    v.object({
      v: described(integer, "Version of the form, 1; fields may be added to it"),
      ca_bundle_pem: described(v.string(), "The CA root in PEM; empty when the CA is external"),
      fingerprint: described(v.string(), "SPKI pin of the root; empty when the CA is external"),
      nats_urls: described(v.array(v.string()), "Where the bus is"),
      issued_at: v.pipe(v.string(), v.isoTimestamp()),
      command_keys: described(v.array(v.string()), "Public keys that sign commands"),
    }),
  ),
  touches: () => ({ fleet: true }),
  run: async (deps: { document(): BootstrapDocument }) => deps.document(),
});
