import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { systemClock } from "../../internal/base/clock.ts";
import { startBus, type TestBus } from "../harness/bus.ts";
import type { Reply } from "../harness/client.ts";
import {
  attestation,
  call,
  decide,
  enrollNew,
  enrollOnce,
  getCreds,
  getNonce,
  listEnrollments,
  newEnrollee,
  submission,
  submit,
  takeNonce,
} from "../harness/enrollee.ts";
import { startMaster, type TestMaster } from "../harness/master.ts";

// What a peel may send, row by row, and what it attests.

// Bun's default of 5 s is too short for a machine that runs the whole suite.
setDefaultTimeout(60_000);

let bus: TestBus;
let master: TestMaster;

beforeAll(async () => {
  bus = await startBus();
  master = await startMaster(bus);
});

afterAll(async () => {
  await master?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

const errorOf = (reply: Reply): string => {
  expect(Object.keys(reply.json as object)).toEqual(["error"]);
  return (reply.json as { error: string }).error;
};
const logged = () => JSON.stringify(master.records);
const other = newEnrollee();
const flip = (text: string) => `${text.slice(0, -1)}${text.endsWith("A") ? "B" : "A"}`;
const good = Buffer.alloc(64, 7).toString("base64");

describe("GET nonce", () => {
  test("answers a challenge for exactly five minutes", async () => {
    const before = systemClock.now();
    const reply = await getNonce(master, newEnrollee());
    expect(reply.status).toBe(200);
    const nonce = reply.json as Record<string, string>;
    expect(Object.keys(nonce).sort()).toEqual(["challenge", "challenge_id", "expires_at"]);
    expect(nonce.challenge_id).toMatch(/^chl-[0-9A-Za-z]{27}$/);
    expect(nonce.challenge_id).toHaveLength(31);
    expect(Buffer.from(nonce.challenge ?? "", "base64")).toHaveLength(32);
    expect(Buffer.from(nonce.challenge ?? "", "base64").toString("base64")).toBe(nonce.challenge ?? "");
    expect(nonce.expires_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    const made = Date.parse(nonce.expires_at ?? "") - 5 * 60_000;
    expect(made).toBeGreaterThanOrEqual(before);
    expect(made).toBeLessThanOrEqual(systemClock.now());
  });

  const key = other.publicKey;
  const maxLength = `a${"b".repeat(253)}c`;
  const rows: [string, Record<string, string>, number][] = [
    ["no peel_id", { public_key: key }, 400],
    ["an empty peel_id", { peel_id: "", public_key: key }, 400],
    ["one character", { peel_id: "a", public_key: key }, 400],
    ["two characters", { peel_id: "aa", public_key: key }, 200],
    ["255 characters", { peel_id: maxLength, public_key: key }, 200],
    ["256 characters", { peel_id: `${maxLength}d`, public_key: key }, 400],
    ["a dot", { peel_id: "web.example", public_key: key }, 400],
    ["a wildcard", { peel_id: "web*1", public_key: key }, 400],
    ["a first hyphen", { peel_id: "-web", public_key: key }, 400],
    ["a last underscore", { peel_id: "web_", public_key: key }, 400],
    ["a line end", { peel_id: "web\n", public_key: key }, 400],
    ["a letter that is not ASCII", { peel_id: "wéb", public_key: key }, 400],
    ["no public_key", { peel_id: "web-1" }, 400],
    ["an account's key", { peel_id: "web-1", public_key: `A${key.slice(1)}` }, 400],
    ["a wrong checksum", { peel_id: "web-1", public_key: flip(key) }, 400],
    ["a key and one more", { peel_id: "web-1", public_key: `${key}A` }, 400],
    ["a curve key", { peel_id: "web-1", public_key: other.curvePublicKey }, 400],
    ["lower case", { peel_id: "web-1", public_key: key.toLowerCase() }, 400],
  ];
  test.each(rows)("%s", async (_, query, status) => {
    const reply = await call(master, { path: `/api/v1/enroll/nonce?${new URLSearchParams(query)}` });
    expect(reply.status).toBe(status);
    if (status === 400) expect(errorOf(reply)).toMatch(/^(peel_id|public_key) /);
  });
});

describe("POST enroll refuses, naming the field and nothing of its value:", () => {
  const planted = "Zq9Planted";
  const rows: [field: string, status: number, change: Record<string, unknown>][] = [
    ["peel_id", 400, { peel_id: undefined }],
    ["peel_id", 400, { peel_id: null }],
    ["peel_id", 400, { peel_id: 7 }],
    ["peel_id", 400, { peel_id: [planted] }],
    ["peel_id", 400, { peel_id: `${planted}.x` }],
    ["peel_id", 400, { peel_id: `${planted}${"a".repeat(256)}` }],
    ["public_key", 400, { public_key: undefined }],
    ["public_key", 400, { public_key: planted }],
    ["public_key", 400, { public_key: flip(other.publicKey) }],
    ["curve_public_key", 400, { curve_public_key: undefined }],
    ["curve_public_key", 400, { curve_public_key: other.publicKey }],
    ["curve_public_key", 400, { curve_public_key: `X${planted}` }],
    ["curve_public_key", 400, { curve_public_key: `${other.curvePublicKey}A` }],
    ["challenge_id", 400, { challenge_id: undefined }],
    ["challenge_id", 400, { challenge_id: `chl-${planted}` }],
    ["challenge_id", 400, { challenge_id: `chl-${planted}${"a".repeat(18)}` }],
    ["challenge_id", 400, { challenge_id: `enr-${"a".repeat(27)}` }],
    ["signature", 400, { signature: undefined }],
    ["signature", 400, { signature: `${planted}!` }],
    ["signature", 400, { signature: Buffer.alloc(63).toString("base64") }],
    ["signature", 400, { signature: Buffer.alloc(65).toString("base64") }],
    ["signature", 400, { signature: Buffer.alloc(64, 0xff).toString("base64url") }],
    ["signature", 400, { signature: good.replace(/=+$/, "") }],
    ["signature", 400, { signature: "A".repeat(132) }],
    ["hostname", 400, { hostname: 7 }],
    ["hostname", 400, { hostname: `${planted}\u001b[31m` }],
    ["hostname", 400, { hostname: `${planted}\u009b31m` }],
    ["hostname", 400, { hostname: `${planted}\u202e` }],
    ["hostname", 400, { hostname: "a".repeat(256) }],
    ["metadata", 400, { metadata: [planted] }],
    ["metadata", 400, { metadata: planted }],
    ["trusted_ca_spki", 400, { trusted_ca_spki: `sha256:${"ab".repeat(32)}` }],
    ["trusted_ca_spki", 400, { trust_signature: good }],
    ["trusted_ca_spki", 400, { trusted_ca_spki: planted, trust_signature: good }],
    ["trust_signature", 400, { trusted_ca_spki: `sha256:${"ab".repeat(32)}`, trust_signature: planted }],
  ];
  test.each(rows)("%s (%i) %j", async (field, status, change) => {
    const peel = newEnrollee();
    const reply = await submit(master, submission(peel, await takeNonce(master, peel), change));
    expect(reply.status).toBe(status);
    expect(errorOf(reply)).toContain(field);
    expect(reply.text).not.toContain(planted);
    expect(logged()).not.toContain(planted);
  });

  test.each([
    ["no object", 400, "[]"],
    ["null", 400, "null"],
    ["half of one", 400, '{"peel_id": "ab'],
    ["not UTF-8", 400, Buffer.from([0x22, 0xff, 0xfe, 0x22])],
    ["nothing", 400, ""],
    ["4097 bytes", 413, `{"x":"${"a".repeat(4097 - 8)}"}`],
    ["1 MiB", 413, `{"x":"${"a".repeat(1024 * 1024)}"}`],
  ])("a body that is %s: %i", async (_, status, body) => {
    const reply = await call(master, {
      method: "POST",
      path: "/api/v1/enroll",
      headers: { "content-type": "application/json" },
      body,
    });
    expect(reply.status).toBe(status);
    errorOf(reply);
  });

  test("4096 bytes are read", async () => {
    const body = `{"x":"${"a".repeat(4096 - 8)}"}`;
    const reply = await call(master, {
      method: "POST",
      path: "/api/v1/enroll",
      headers: { "content-type": "application/json" },
      body,
    });
    expect(reply.status).toBe(400);
    expect(errorOf(reply)).toContain("peel_id");
  });

  test.each([undefined, "text/plain", "application/x-www-form-urlencoded"])(
    "the content type %s: 415",
    async (type) => {
      const peel = newEnrollee();
      const body = JSON.stringify(submission(peel, await takeNonce(master, peel)));
      const headers: Record<string, string> = type === undefined ? {} : { "content-type": type };
      const reply = await call(master, { method: "POST", path: "/api/v1/enroll", headers, body });
      expect(reply.status).toBe(415);
      errorOf(reply);
    },
  );

  test("a parameter of the content type does no harm", async () => {
    const peel = newEnrollee();
    const reply = await call(master, {
      method: "POST",
      path: "/api/v1/enroll",
      headers: { "content-type": "Application/JSON; charset=utf-8" },
      body: JSON.stringify(submission(peel, await takeNonce(master, peel))),
    });
    expect(reply.status).toBe(201);
  });
});

test("a submission is answered with id, peel_id and state, and stored as it was sent", async () => {
  const peel = newEnrollee();
  const metadata = { os: "linux", cpus: 4, tags: ["a", "b"], nested: { x: null } };
  const reply = await enrollOnce(master, peel, { hostname: "web-1.example", metadata });
  expect(reply.status).toBe(201);
  const { id } = reply.json as { id: string };
  expect(reply.json).toEqual({ id, peel_id: peel.peelId, state: "pending" });
  expect(id).toMatch(/^enr-[0-9A-Za-z]{27}$/);
  const rejected = await decide(master, "reject", id, { reason: "not ours" });
  expect(rejected.json).toMatchObject({
    id,
    peel_id: peel.peelId,
    public_key: peel.publicKey,
    curve_public_key: peel.curvePublicKey,
    hostname: "web-1.example",
    metadata,
    state: "rejected",
    DecidedBy: "tester",
    RejectReason: "not ours",
  });
});

describe("the signature", () => {
  test("over the challenge alone is refused", async () => {
    const peel = newEnrollee();
    const nonce = await takeNonce(master, peel);
    const signature = peel.sign(Buffer.from(nonce.challenge, "base64")).toString("base64");
    const reply = await submit(master, submission(peel, nonce, { signature }));
    expect([reply.status, errorOf(reply)]).toEqual([401, "signature verification failed"]);
  });

  test("for another curve key is refused", async () => {
    const peel = newEnrollee();
    const nonce = await takeNonce(master, peel);
    const reply = await submit(
      master,
      submission(peel, nonce, { curve_public_key: newEnrollee().curvePublicKey }),
    );
    expect(reply.status).toBe(401);
  });

  test("by another key is refused", async () => {
    const peel = newEnrollee();
    const nonce = await takeNonce(master, peel);
    const { signature } = submission({ ...newEnrollee(), curvePublicKey: peel.curvePublicKey }, nonce);
    expect((await submit(master, submission(peel, nonce, { signature }))).status).toBe(401);
  });
});

describe("the trust attestation", () => {
  const foreign = `sha256:${"cd".repeat(32)}`;
  const trustOf = async (id: string) => {
    const list = (await listEnrollments(master, "?state=all")).json as { id: string; trust: string }[];
    return list.find((summary) => summary.id === id)?.trust;
  };
  const ownPin = async () =>
    ((await call(master, { path: "/api/v1/enroll/ca" })).json as { fingerprint: string }).fingerprint;

  test("absent shows as -, and the record says nothing of trust", async () => {
    const id = await enrollNew(master, newEnrollee());
    expect(await trustOf(id)).toBe("-");
    const approved = (await decide(master, "approve", id)).json as Record<string, unknown>;
    expect(Object.keys(approved)).not.toContain("TrustMismatch");
    expect(Object.keys(approved)).not.toContain("trusted_ca_spki");
  });

  test("of the master's own root is ok, and approved without force", async () => {
    const peel = newEnrollee();
    const nonce = await takeNonce(master, peel);
    const spki = await ownPin();
    const attested = attestation(peel, nonce, spki);
    const id = ((await submit(master, submission(peel, nonce, attested))).json as { id: string }).id;
    expect(await trustOf(id)).toBe("ok");
    const approved = await decide(master, "approve", id);
    expect(approved.status).toBe(200);
    expect(approved.json).toMatchObject({ ...attested, TrustMismatch: false });
  });

  test("of another root is a mismatch, approved only by force", async () => {
    const peel = newEnrollee();
    const nonce = await takeNonce(master, peel);
    const id = (
      (await submit(master, submission(peel, nonce, attestation(peel, nonce, foreign)))).json as {
        id: string;
      }
    ).id;
    expect(await trustOf(id)).toBe("MISMATCH!");
    for (const body of [undefined, {}, { force: false }]) {
      const refused = await decide(master, "approve", id, body);
      expect(refused.status).toBe(409);
      expect(errorOf(refused)).toContain("CA root");
    }
    expect((await decide(master, "approve", id, { force: "yes" })).status).toBe(400);
    expect((await getCreds(master, peel, id)).status).toBe(403);
    const forced = await decide(master, "approve", id, { force: true });
    expect(forced.status).toBe(200);
    expect(forced.json).toMatchObject({ state: "approved", TrustMismatch: true, trusted_ca_spki: foreign });
    expect((await getCreds(master, peel, id)).status).toBe(200);
  });

  const rows: [string, (peel: ReturnType<typeof newEnrollee>, challenge: Buffer) => Buffer][] = [
    ["by another key", (_, challenge) => newEnrollee().sign(bound(challenge, foreign))],
    ["of another root", (peel, challenge) => peel.sign(bound(challenge, `sha256:${"00".repeat(32)}`))],
    ["of another challenge", (peel) => peel.sign(bound(Buffer.alloc(32), foreign))],
    ["of the root alone", (peel) => peel.sign(Buffer.from(foreign))],
    ["for another purpose", (peel, challenge) => peel.sign(bound(challenge, foreign, "renew"))],
  ];
  const bound = (challenge: Buffer, spki: string, purpose = "enroll") =>
    Buffer.from(`svc/trust-attestation/v1\0${purpose}\0${challenge.toString("latin1")}\0${spki}`, "latin1");
  test.each(rows)("signed %s is refused with 401", async (_, signWrongly) => {
    const peel = newEnrollee();
    const nonce = await takeNonce(master, peel);
    const signature = signWrongly(peel, Buffer.from(nonce.challenge, "base64")).toString("base64");
    const body = submission(peel, nonce, { trusted_ca_spki: foreign, trust_signature: signature });
    const reply = await submit(master, body);
    expect([reply.status, errorOf(reply)]).toEqual([401, "trust_signature verification failed"]);
  });
});
