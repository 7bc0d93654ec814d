import * as v from "valibot";
import { SvcError } from "../../base/errors.ts";
import { described, integer, timestamp, titled } from "../../base/schema.ts";
import { type BootstrapDocument, documentTag } from "../../identity/bootstrap/mod.ts";
import type { SignedSuccession } from "../../identity/succession/mod.ts";
import { operation } from "../operation/mod.ts";

export interface FleetDeps {
  /** The current document. */
  document(): BootstrapDocument;
}

export const getBootstrapDocument = operation({
  name: "fleet.describe",
  kind: "read",
  summary: "Get the CA root of the fleet and the addresses of the bus",
  admits: ["anonymous"],
  scope: "public",
  output: v.object({
    document: titled(
      "BootstrapDocument",
      v.object({
        v: described(integer, "Version of the form, 1; fields may be added to it"),
        ca_bundle_pem: described(
          v.string(),
          "The CA root in PEM, and the next one while it is rotated; empty when the CA is external",
        ),
        fingerprint: described(v.string(), "SPKI pin of the root; empty when the CA is external"),
        fingerprints: described(
          v.exactOptional(v.array(v.string())),
          "While the root is rotated: the pins of the current and the next root",
        ),
        trust_rotation: described(
          v.exactOptional(
            v.object({
              phase: described(v.string(), "`start` or `activate`"),
              next_fingerprint: described(v.string(), "SPKI pin of the next root"),
              signature: described(
                v.string(),
                "Standard base64, of a command key over `svc/ca-rotation/v1`, phase and both pins, separated by NUL",
              ),
              key: described(v.string(), "The public key that signed"),
            }),
          ),
          "While the root is rotated: the statement that the next root follows the current one",
        ),
        ca_cross_pem: described(
          v.exactOptional(v.string()),
          "After a rotation: certificates in PEM that lead to the root from those before it, for peels that were off",
        ),
        nats_urls: described(v.array(v.string()), "Addresses of the bus"),
        sites: described(
          v.exactOptional(v.record(v.string(), v.array(v.string()))),
          "Addresses of the bus at sites, by name: peels of a site try these first",
        ),
        issued_at: timestamp,
        command_keys: described(v.array(v.string()), "Public keys that sign commands"),
        recovery_keys: described(v.array(v.string()), "Public keys that may sign a succession"),
      }),
    ),
    /** The entity tag of its content. */
    tag: v.string(),
  }),
  async run(deps: FleetDeps) {
    const document = deps.document();
    return { document, tag: documentTag(document) };
  },
});

export interface SuccessionDeps {
  /** The statement of this fleet, if it succeeds another one. */
  succession: SignedSuccession | undefined;
}

const strings = (text: string) => described(v.array(v.string()), text);

export const getSuccession = operation({
  name: "fleet.succession",
  kind: "read",
  summary: "Get the signed statement that this fleet succeeds another one",
  admits: ["anonymous"],
  scope: "public",
  output: titled(
    "Succession",
    v.object({
      v: described(integer, "Version of the form, 1"),
      serial: described(integer, "Counts the successions of a fleet, from 1"),
      issued_at: timestamp,
      ca_bundle_pem: described(v.string(), "The CA root of this fleet in PEM"),
      fingerprint: described(v.string(), "SPKI pin of the root"),
      command_keys: strings("Public keys that sign commands"),
      recovery_keys: strings("Public keys that may sign the next statement"),
      master_urls: strings("Addresses of the masters"),
      bus_urls: strings("Addresses of the bus"),
      signature: described(v.string(), "Signature by a recovery key of the fleet before, in base64"),
      key: described(v.string(), "Public key of that recovery key"),
    }),
  ),
  async run({ succession }: SuccessionDeps) {
    if (succession === undefined) throw new SvcError("not_found", "this fleet does not succeed another one");
    return succession;
  },
});
