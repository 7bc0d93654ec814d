import { expect, test } from "bun:test";
import { manualClock } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { systemRandom } from "../../base/id.ts";
import { newKeyPair } from "../../identity/nkey.ts";
import type { Asked, Prove } from "../evidence/asked.ts";
import { enrollPeel } from "./enroll.ts";
import type { Answer, AskOptions } from "./master-client.ts";

// Evidence on the way to masters that differ in what they accept.

const nonce = (more: Record<string, unknown> = {}): Answer => ({
  status: 200,
  body: { challenge_id: "chl-1", challenge: Buffer.alloc(32, 7).toString("base64"), ...more },
});
const done: Answer = { status: 403, body: { error: "seen enough" } };

/** Enrolls with masters that answer this, one after the other; it ends with a refusal. */
async function enroll(answers: Answer[], prove: Prove) {
  const sent: [path: string, body: Record<string, unknown> | undefined][] = [];
  const masters = {
    async request(_: string, path: string, options: AskOptions = {}) {
      sent.push([path.split("?")[0] ?? "", options.body?.(undefined)]);
      return answers.shift() ?? done;
    },
    stream: async () => {},
  };
  const log = recordingLog();
  const failure = await enrollPeel({
    ...{ masters, peelId: "web-1", key: newKeyPair("user", systemRandom), hostname: "web-1", metadata: {} },
    ...{ prove, clock: manualClock(), jitter: () => 0, log, signal: new AbortController().signal },
  }).catch((thrown: Error) => thrown.message);
  return { sent, failure, log };
}
const x509: Prove = async ({ accepts }) =>
  accepts.includes("x509") ? { type: "x509", chain_pem: "c", signature: "s" } : undefined;

test("a master that says nothing gets no evidence", async () => {
  const { sent } = await enroll([nonce(), done], x509);
  expect(sent[1]?.[1]).not.toHaveProperty("evidence");
});

test("what a master says it accepts may be anything", async () => {
  const seen: unknown[] = [];
  for (const evidence of ["x509", { 0: "x509" }, [5, "x509", null], undefined]) {
    await enroll([nonce({ evidence }), done], async ({ accepts }) => void seen.push(accepts));
  }
  expect(seen).toEqual([[], [], ["x509"], []]);
});

test("when another master has no room for it, a new challenge decides", async () => {
  const tooLarge = { status: 413, body: { error: "too large" } };
  const { sent, log } = await enroll([nonce({ evidence: ["x509"] }), tooLarge, nonce(), done], x509);
  expect(sent.map(([, body]) => body?.evidence)).toEqual([
    undefined,
    { type: "x509", chain_pem: "c", signature: "s" },
    undefined,
    undefined,
  ]);
  expect(log.records[0]?.event).toContain("has no room for evidence");
});

test("without evidence a body that is too large is a refusal", async () => {
  const { failure } = await enroll([nonce(), { status: 413, body: { error: "too large" } }], x509);
  expect(failure).toContain("too large");
});

test.each<[string, Answer, unknown]>([
  [
    "opens",
    { status: 200, body: { credential_blob: "b", encrypted_secret: "e" } },
    { credential_blob: "b", encrypted_secret: "e" },
  ],
  ["has lost", { status: 401, body: { error: "challenge verification failed" } }, undefined],
  ["does not know", { status: 404, body: { error: "not found" } }, undefined],
])("a TPM asks in the same challenge, and a master %s it", async (_, answer, expected) => {
  const found: unknown[] = [];
  const prove = async ({ credential }: Asked) => {
    found.push(await credential({ ek_certificate: "k", ak_public: "a" }));
    return undefined;
  };
  const { sent } = await enroll([nonce({ evidence: ["tpm"] }), answer, done], prove);
  expect(sent[1]).toMatchObject([
    "/api/v1/enroll/tpm",
    { peel_id: "web-1", challenge_id: "chl-1", ak_public: "a" },
  ]);
  expect(found).toEqual([expected]);
});

test("a TPM that a master refuses ends the enrollment with its reason", async () => {
  const prove = async ({ credential }: Asked) => {
    await credential({ ek_certificate: "k", ak_public: "a" });
    return undefined;
  };
  const refused = { status: 401, body: { error: "evidence does not verify: expired" } };
  const { failure } = await enroll([nonce({ evidence: ["tpm"] }), refused], prove);
  expect(failure).toContain("the master refused the TPM of this host: evidence does not verify: expired");
});
