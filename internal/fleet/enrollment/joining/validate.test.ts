import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { SvcError } from "../../../base/errors.ts";
import { systemRandom } from "../../../base/id.ts";
import { deriveCurveKey } from "../../../identity/curve.ts";
import { newKeyPair } from "../../../identity/nkey.ts";
import { parse } from "../../operation/parse.ts";
import { readSubmission, submissionSchema } from "./validate.ts";

const checkSubmission = (body: unknown) => readSubmission(parse(submissionSchema, { fields: body }));
const key = newKeyPair("user", systemRandom);
const account = newKeyPair("account", systemRandom);
const signature = Buffer.alloc(64, 7).toString("base64");
const good = {
  peel_id: "web-1_example",
  public_key: key.publicKey,
  curve_public_key: deriveCurveKey(key).publicKey,
  challenge_id: "chl-3MPFSICSuHM6n9ASVzK0s68GQu3",
  signature,
};
const pin = `sha256:${"ab".repeat(32)}`;
const swapLast = (text: string) => `${text.slice(0, -1)}${text.endsWith("A") ? "B" : "A"}`;

test("a complete submission passes", () => {
  const full = {
    ...good,
    hostname: "web-1.example",
    metadata: { os: "linux" },
    trusted_ca_spki: pin,
    trust_signature: signature,
  };
  expect(checkSubmission(full)).toMatchObject({ peelId: "web-1_example", attestation: { caSpki: pin } });
});

describe("refused, naming the field", () => {
  const rows: [field: string, change: Record<string, unknown>][] = [
    ["peel_id", { peel_id: undefined }],
    ["peel_id", { peel_id: 5 }],
    ["peel_id", { peel_id: "a" }],
    ["peel_id", { peel_id: "-ab" }],
    ["peel_id", { peel_id: "ab-" }],
    ["peel_id", { peel_id: "a.b" }],
    ["peel_id", { peel_id: "a b" }],
    ["peel_id", { peel_id: "a*b" }],
    ["peel_id", { peel_id: "ab\n" }],
    ["peel_id", { peel_id: "a".repeat(256) }],
    ["public_key", { public_key: "" }],
    ["public_key", { public_key: account.publicKey }],
    ["public_key", { public_key: key.seed }],
    ["public_key", { public_key: swapLast(key.publicKey) }],
    ["public_key", { public_key: `${key.publicKey}A` }],
    ["public_key", { public_key: key.publicKey.toLowerCase() }],
    ["curve_public_key", { curve_public_key: undefined }],
    ["curve_public_key", { curve_public_key: key.publicKey }],
    ["curve_public_key", { curve_public_key: swapLast(good.curve_public_key) }],
    ["challenge_id", { challenge_id: "chl-short" }],
    ["challenge_id", { challenge_id: `enr-${good.challenge_id.slice(4)}` }],
    ["challenge_id", { challenge_id: `${good.challenge_id}x` }],
    ["signature", { signature: "not base64!" }],
    ["signature", { signature: Buffer.alloc(63).toString("base64") }],
    ["signature", { signature: Buffer.alloc(64, 0xfb).toString("base64url") }],
    ["signature", { signature: "A".repeat(132) }],
    ["hostname", { hostname: 7 }],
    ["hostname", { hostname: "a\u0007b" }],
    ["hostname", { hostname: "a".repeat(256) }],
    ["metadata", { metadata: [] }],
    ["metadata", { metadata: "x" }],
    ["trusted_ca_spki", { trusted_ca_spki: pin }],
    ["trusted_ca_spki", { trust_signature: signature }],
    ["trusted_ca_spki", { trusted_ca_spki: "sha1:00", trust_signature: signature }],
    ["trust_signature", { trusted_ca_spki: pin, trust_signature: "AA==" }],
  ];
  for (const [field, change] of rows) {
    test(`${field}: ${JSON.stringify(change)?.slice(0, 60)}`, () => {
      expect(() => checkSubmission({ ...good, ...change })).toThrow(
        expect.objectContaining({ kind: "bad_request", message: expect.stringContaining(field) }),
      );
    });
  }
});

test("any input is refused in order, never with an unexpected error", () => {
  fc.assert(
    fc.property(
      fc.oneof(fc.anything(), fc.record({ peel_id: fc.anything(), signature: fc.anything() })),
      (body) => {
        expect(() => checkSubmission(body)).toThrow(SvcError);
      },
    ),
    { numRuns: 2000 },
  );
});
