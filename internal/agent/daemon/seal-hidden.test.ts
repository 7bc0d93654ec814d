import { expect, test } from "bun:test";
import { recordingLog } from "../../../test/harness/log.ts";
import { systemRandom } from "../../base/id.ts";
import { encode } from "../../base/msgpack.ts";
import { deriveCurveKey } from "../../identity/curve.ts";
import { curvePublicKeyOf } from "../../identity/curve-public-key.ts";
import { type KeyPair, newKeyPair } from "../../identity/nkey.ts";
import { openSealed } from "../../identity/seal.ts";
import { type Call, decodeCall, encodeCall } from "../../wire/call.ts";
import type { JobReturn } from "../../wire/return.ts";
import { openReturn } from "../../wire/sealed-return.ts";
import { signRequest } from "../../wire/signed-request.ts";
import type { Consent } from "../consent/judge.ts";
import { fittingReturn } from "../execution/return.ts";
import { sealHidden } from "./seal-hidden.ts";

const [ann, eve] = [newKeyPair("user", systemRandom), newKeyPair("user", systemRandom)];
const curveOf = (key: KeyPair) => curvePublicKeyOf(key.publicKey) ?? "";
const of = { jid: "job-1", peel: "web-1" };
const ok: JobReturn = { success: true, retcode: 0, return: "***", started_at: "", duration_ms: 1 };
const hidden = { password: "s3cret" };

interface Sent {
  sealTo?: string;
  signer?: KeyPair;
  subject?: string;
  consent?: Consent;
}

/** What a peel makes of a command, and what it logs. */
function sealing({ sealTo, signer, subject = "svc.job.request", consent }: Sent) {
  const request =
    signer &&
    signRequest(
      subject,
      { body: encode({}), operator: "ann", sentAt: 1_000, nonce: systemRandom(16) },
      signer,
    );
  const call: Call = {
    ...{ function: "settings.get", args: { name: "db" } },
    ...(sealTo === undefined ? {} : { sealTo }),
  };
  const body = encodeCall(call, undefined, request && { request, records: [] });
  const log = recordingLog();
  const command = { kind: "dispatch" as const, jid: of.jid, peel: of.peel, deadline: 9_000, body, proof: [] };
  const made = sealHidden({ peelId: of.peel, random: systemRandom, log }, command, decodeCall(body), consent);
  return { made, warnings: log.records.filter(({ level }) => level === "warn").length };
}
const consentOf = (key: KeyPair): Consent => ({
  ...{ by: "operator", operator: "ann", key: key.publicKey, nonce: systemRandom(16) },
  ...{ sentAt: 0, until: 9_000, timeoutMs: 1_000, isWave: false },
});
const opened = (result: JobReturn | undefined, key: KeyPair) =>
  openReturn(result?.sealed ?? new Uint8Array(), of, (box, purpose) =>
    openSealed(box, deriveCurveKey(key), purpose),
  );

test.each<[string, Sent]>([
  ["a peel that obeys masters", { sealTo: curveOf(ann), signer: ann }],
  ["a peel that obeys operators only", { sealTo: curveOf(ann), signer: ann, consent: consentOf(ann) }],
])("%s seals what is hidden to the key that signed the request", (_, sent) => {
  const { made, warnings } = sealing(sent);
  made?.take(hidden);
  const result = made?.into(ok);
  expect(result).toEqual({ ...ok, sealed: expect.any(Uint8Array) });
  expect(opened(result, ann)).toEqual(hidden);
  expect(() => opened(result, eve)).toThrow("for another key");
  expect(warnings).toBe(0);
});

test.each<[string, Sent]>([
  ["a master names another key", { sealTo: curveOf(eve), signer: ann }],
  ["the bus put another request into the record", { sealTo: curveOf(ann), signer: eve }],
  ["nobody signed", { sealTo: curveOf(ann) }],
  ["it was signed for a rollout", { sealTo: curveOf(ann), signer: ann, subject: "svc.rollout.start" }],
  ["the verified operator has another key", { sealTo: curveOf(eve), signer: eve, consent: consentOf(ann) }],
  ["it is not a key", { sealTo: "X", signer: ann }],
])("nothing is sealed when %s, and the log reports it", (_, sent) => {
  expect(sealing(sent)).toEqual({ made: undefined, warnings: 1 });
});

test("a job without a key to seal to is as before", () => {
  expect(sealing({ signer: ann })).toEqual({ made: undefined, warnings: 0 });
});

test("a return that hides nothing, or failed, or hides more than fits, has no box", () => {
  const begin = () => sealing({ sealTo: curveOf(ann), signer: ann }).made;
  expect(begin()?.into(ok)).toBe(ok);
  const failing = begin();
  failing?.take(hidden);
  const failed = { ...ok, success: false };
  expect(failing?.into(failed)).toBe(failed);
  const large = begin();
  large?.take("x".repeat(256 * 1024));
  expect(large?.into(ok)).toBe(ok);
});

test("a box is kept where the value next to it is cut", () => {
  const made = sealing({ sealTo: curveOf(ann), signer: ann }).made;
  made?.take(hidden);
  const result = fittingReturn(made?.into({ ...ok, return: "***".repeat(200_000) }) ?? ok);
  expect(opened(result, ann)).toEqual(hidden);
});
