import { expect, test } from "bun:test";
import { createHmac } from "node:crypto";
import { manualClock } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { systemRandom } from "../../base/id.ts";
import { newKeyPair } from "../../identity/nkey.ts";
import { enrollPeel } from "./enroll.ts";
import type { Answer, RequestOptions } from "./master-client.ts";

const enr = "enr-3MTjXljDE3X9B12cKkqBYn3ND1Y";
const jtk = "jtk-3MTjXljDE3X9B12cKkqBYn3ND1Y";
const challenge = Buffer.from(systemRandom(32));
const key = newKeyPair("user", systemRandom);
const token = { id: jtk, secret: systemRandom(32) };

type Script = Readonly<Record<string, { status: number; body?: Record<string, unknown> }>>;
const nonce = { status: 200, body: { challenge_id: "chl-1", challenge: challenge.toString("base64") } };
const creds = { status: 200, body: { creds_data: Buffer.from("a credentials file").toString("base64") } };

/** Enrolls with masters that give these answers, by the end of the path. */
async function enrollWith(script: Script, withToken = true) {
  const requested: string[] = [];
  let submitted: Record<string, unknown> = {};
  const masters = {
    async request(_: string, path: string, { body }: RequestOptions = {}): Promise<Answer> {
      const [found = "nothing", answer] = Object.entries(script).find(([name]) => path.includes(name)) ?? [];
      requested.push(found);
      if (body !== undefined) submitted = body(undefined);
      if (answer === undefined) throw new Error(`nobody answers ${path}`);
      return { body: {}, ...answer };
    },
    stream: async () => {
      throw new Error("it does not wait");
    },
  };
  const enrolled = await enrollPeel({
    ...{ masters, peelId: "web-1", key, hostname: "web-1", metadata: {} },
    ...(withToken ? { token } : {}),
    ...{ clock: manualClock(), jitter: () => 0, log: recordingLog(), signal: new AbortController().signal },
  });
  return { enrolled, requested, submitted };
}

test("a host that a token admits downloads its credentials at once", async () => {
  const answers = {
    nonce,
    "/creds": creds,
    "/enroll": { status: 201, body: { id: enr, state: "approved" } },
  };
  const { enrolled, requested, submitted } = await enrollWith(answers);
  expect(enrolled).toMatchObject({ enrollmentId: enr, credentials: "a credentials file" });
  expect(requested).toEqual(["nonce", "/enroll", "/creds"]);
  const proof = createHmac("sha256", token.secret)
    .update(Buffer.concat([challenge, Buffer.from(`\0${key.publicKey}`)]))
    .digest("base64");
  expect(submitted.token).toEqual({ id: jtk, proof });
});

test("a host whose first answer was lost finds its own enrollment", async () => {
  const answers = {
    ...{ nonce, "by-key": { status: 200, body: { id: enr, state: "approved" } }, "/creds": creds },
    "/enroll": { status: 409, body: { error: "peel_id already has an active enrollment" } },
  };
  const { enrolled, requested } = await enrollWith(answers);
  expect(enrolled.enrollmentId).toBe(enr);
  expect(requested).toEqual(["nonce", "/enroll", "by-key", "/creds"]);
});

test("a host with the name of another one gets a next step", async () => {
  const answers = { nonce, "by-key": { status: 404 }, "/enroll": { status: 409, body: { error: "taken" } } };
  await expect(enrollWith(answers)).rejects.toThrow("web-1 is already enrolled (taken): find it with");
});

test.each([
  [403, "join token was revoked", "make another one with svc enroll token create"],
  [401, "join token verification failed", "copy the whole line that svc enroll token create printed"],
])("a refusal of the token says the next step: %i", async (status, error, next) => {
  const answers = { nonce, "/enroll": { status, body: { error } } };
  await expect(enrollWith(answers)).rejects.toThrow(
    `the masters do not admit web-1: ${error} (${jtk}); ${next}`,
  );
});

test("without a token nothing of one is sent", async () => {
  const answers = {
    nonce,
    "/creds": creds,
    "/enroll": { status: 200, body: { id: enr, state: "approved" } },
  };
  const { submitted } = await enrollWith(answers, false);
  expect(Object.keys(submitted)).not.toContain("token");
});
