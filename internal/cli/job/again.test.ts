import { expect, test } from "bun:test";
import fc from "fast-check";
import { newId, systemRandom } from "../../base/id.ts";
import { encode, type Plain } from "../../base/msgpack.ts";
import { newKeyPair } from "../../identity/nkey.ts";
import { signRequest } from "../../wire/signed-request.ts";
import { wasSignedBy } from "./again.ts";

const mine = newKeyPair("user", systemRandom);
const other = newKeyPair("user", systemRandom);
const at = Date.UTC(2026, 0, 1, 0, 0, 0, 300);
const jid = newId("job", at, systemRandom);
const subject = "svc.job.request";
const call = { function: "cmd.run", args: { command: "id" } };

const envelope = (body: Record<string, Plain>, key = mine, on = subject) =>
  signRequest(on, { body: encode(body), operator: "ann", sentAt: at, nonce: systemRandom(16) }, key);
const jobOf = (signed: Uint8Array, job: { function: string; args: Record<string, Plain> } = call) => ({
  jid,
  ...job,
  signed: { subject, envelope: Buffer.from(signed).toString("base64") },
});

test("a job that is as this key signed it needs no question", () => {
  expect(wasSignedBy(mine.publicKey, jobOf(envelope(call)))).toBe(true);
  const none = { function: "test.ping", args: {} };
  expect(wasSignedBy(mine.publicKey, jobOf(envelope({ function: "test.ping" }), none))).toBe(true);
});

const changed = { ...call, args: { command: "rm -rf /" } };
test.each([
  ["nobody signed it", { jid, ...call }],
  ["another key signed it", jobOf(envelope(call, other))],
  ["the record has other arguments", jobOf(envelope(call), changed)],
  ["the record has another function", jobOf(envelope(call), { ...call, function: "cmd.retcode" })],
  ["it was signed for another subject", jobOf(envelope(call, mine, "svc.rollout.start"))],
  ["it belongs to another job", { ...jobOf(envelope(call)), jid: newId("job", at + 1_000, systemRandom) }],
  ["the envelope is malformed", jobOf(Buffer.of(1))],
  ["the request is malformed", jobOf(envelope({}))],
])("is asked about when %s", (_, job) => {
  expect(wasSignedBy(mine.publicKey, job)).toBe(false);
});

test("no bit of what was signed can be changed", () => {
  const signed = envelope(call);
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 8 * signed.length - 1 }), (bit) => {
      const bent = Uint8Array.from(signed);
      bent[bit >> 3] = (bent[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(wasSignedBy(mine.publicKey, jobOf(bent))).toBe(false);
    }),
    { numRuns: 200 },
  );
});
