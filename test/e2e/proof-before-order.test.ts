import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { createHmac } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { decode } from "../../internal/base/msgpack.ts";
import { startBus, type TestBus } from "../harness/bus.ts";
import { freshAddress, type Reply } from "../harness/client.ts";
import { authorityExtensions, companyAuthority, leafExtensions } from "../harness/company-authority.ts";
import {
  attestation,
  call,
  type Enrollee,
  enrollOnce,
  getCreds,
  getStatus,
  newEnrollee,
  postJson,
  submission,
  submit,
  takeNonce,
} from "../harness/enrollee.ts";
import { binaries, type MasterDaemon, startMasterBinary, startPeelBinary, svc } from "../harness/fleet.ts";
import { runProgram } from "../harness/process.ts";

// A name is a claim: strangers ask under names that they guessed, before the hosts that have a token, an expected key
// or a certificate. With the compiled programs and two masters.

setDefaultTimeout(60_000);

const replaced = "replaced by a host that proved itself";

let bus: TestBus;
let masters: readonly [MasterDaemon, MasterDaemon];
let stack: AsyncDisposableStack;
let company: ReturnType<typeof companyAuthority>;
let ca: ReturnType<typeof company.issue>;

beforeAll(async () => {
  stack = new AsyncDisposableStack();
  bus = stack.use(await startBus());
  company = companyAuthority(bus.dir);
  ca = company.issue({ subject: "/O=Example/CN=Root", extensions: authorityExtensions });
  writeFileSync(
    join(bus.dir, "policy.yaml"),
    "rules:\n  - name: racks\n    match: { peel: 'rack-*', evidence: x509 }\n    decide: approve\n",
  );
  const flags = [
    ...["--enroll-policy", join(bus.dir, "policy.yaml"), "--enroll-evidence-x509-ca", ca.cert],
    "--enroll-max-pending=20",
  ];
  const [one, other] = await Promise.all([startMasterBinary(bus, flags), startMasterBinary(bus, flags)]);
  masters = [stack.use(one), stack.use(other)];
});
afterAll(async () => {
  await stack?.[Symbol.asyncDispose]();
});

const door = (at: 0 | 1 = 0) => ({ url: masters[at].url, ca: bus.caPem });

/** What a join token is made of. */
interface Made {
  id: string;
  text: string;
  secret: Uint8Array;
  pins: string[];
}

async function createToken(...words: string[]): Promise<Made> {
  const made = await svc(bus, "enroll", "token", "create", "--url", masters[1].url, ...words);
  if (made.code !== 0) throw new Error(made.stderr);
  const text = made.stdout.trim();
  const parts = decode(Buffer.from(text.slice("svcjoin1.".length), "base64url"));
  return { ...(parts as Omit<Made, "text">), text };
}

async function joinWith(
  peel: Enrollee,
  token: Made,
  at: 0 | 1 = 0,
  root = token.pins[0] ?? "",
): Promise<Reply> {
  const nonce = await takeNonce(door(at), peel);
  const message = Buffer.concat([Buffer.from(nonce.challenge, "base64"), Buffer.from(`\0${peel.publicKey}`)]);
  const proof = createHmac("sha256", token.secret).update(message).digest("base64");
  const body = { ...submission(peel, nonce, attestation(peel, nonce, root)), token: { id: token.id, proof } };
  return submit(door(at), body);
}

/** Asks with a certificate of the company. */
async function certify(peel: Enrollee, at: 0 | 1 = 0): Promise<Reply> {
  const leaf = company.issue({ by: ca, extensions: leafExtensions(peel.peelId) });
  const nonce = await takeNonce(door(at), peel);
  const message = Buffer.concat([
    Buffer.from("svc/evidence/v1\0x509\0"),
    Buffer.from(nonce.challenge, "base64"),
    Buffer.from(`\0${peel.publicKey}`),
  ]);
  const signature = company.sign(leaf.key, message).toString("base64");
  const evidence = { type: "x509", chain_pem: leaf.pem, signature };
  return submit(door(at), submission(peel, nonce, { evidence }));
}

interface Standing {
  id: string;
  state: string;
  key_mismatch?: true;
}
const standing = ({ json }: Reply) => json as Standing;

/** A stranger who asks first. */
async function squat(peelId: string, at: 0 | 1 = 0): Promise<Standing & { peel: Enrollee }> {
  const peel = newEnrollee(peelId);
  const reply = await enrollOnce(door(at), peel);
  expect([reply.status, standing(reply).state]).toEqual([201, "pending"]);
  return { ...standing(reply), peel };
}

const json = async (...words: string[]) =>
  JSON.parse((await svc(bus, ...words, "--output", "json")).stdout) as Record<string, unknown>[];
const shown = async (id: string) =>
  JSON.parse((await svc(bus, "enroll", "show", id, "--output", "json")).stdout) as Record<string, unknown>;
const reject = (...ids: string[]) => svc(bus, "enroll", "reject", ...ids);

describe("a name that a stranger took first", () => {
  test("goes to the host with a token, and the stranger is sent away", async () => {
    await using squatter = startPeelBinary(bus, masters[0].url, "web-18");
    await squatter.program.waitFor("enrollment pending");
    const [waiting] = await json("enroll", "list");
    expect(waiting).toMatchObject({ peel_id: "web-18", state: "pending" });
    // Without a proof, the first one stays.
    expect(standing(await enrollOnce(door(1), newEnrollee("web-18")))).toEqual({
      ...{ id: waiting?.id, peel_id: "web-18", state: "pending", key_mismatch: true },
    } as unknown as Standing);

    const token = await createToken("--peel", "web-*", "--uses", "2");
    const dir = join(bus.dir, "web-18");
    mkdirSync(dir);
    writeFileSync(join(dir, "token"), token.text, { mode: 0o600 });
    const argv = ["--config", join(dir, "peel.yaml"), "--id", "web-18", "--token-file", join(dir, "token")];
    const joined = await runProgram([binaries.peel, "join", "--once", ...argv], {
      env: { SVC_DATA_DIR: dir },
    });
    expect([joined.code, joined.stdout]).toEqual([0, expect.stringContaining("web-18 has joined the fleet")]);
    expect(await squatter.program.exited).toBe(1);
    expect(squatter.program.output()).toContain(`the enrollment ${waiting?.id} was rejected`);
    expect(await shown(String(waiting?.id))).toMatchObject({
      ...{ state: "rejected", DecidedBy: `token:${token.id}`, RejectReason: replaced },
    });
    const audited = await json("audit", "list", "--limit", "50");
    const entries = audited.filter(({ operator }) => operator === `token:${token.id}`);
    expect(entries.map(({ action, outcome }) => `${action} ${outcome}`)).toContain("enrollments.reject done");
    expect((await svc(bus, "audit", "verify")).code).toBe(0);

    // A name that nobody took is the control.
    const free = newEnrollee("web-17");
    expect(await joinWith(free, token)).toMatchObject({ status: 201, json: { state: "approved" } });
  });

  test("stays with the stranger when the token is not good, and no use of it is taken", async () => {
    const squatter = await squat("web-20");
    const token = await createToken("--peel", "db-*");
    expect(await joinWith(newEnrollee("web-20"), token)).toMatchObject({ status: 403 });
    const forged = { ...token, secret: Buffer.alloc(32, 7) };
    expect(await joinWith(newEnrollee("web-20"), forged)).toMatchObject({ status: 401 });
    const good = await createToken("--peel", "web-*");
    const other = await joinWith(newEnrollee("web-20"), good, 0, `sha256:${"ab".repeat(32)}`);
    expect(other).toMatchObject({ status: 200, json: { id: squatter.id, key_mismatch: true } });
    expect(standing(await getStatus(door(), squatter.id)).state).toBe("pending");
    expect(await joinWith(newEnrollee("web-20"), good)).toMatchObject({
      ...{ status: 201, json: { state: "approved" } },
    });
    expect(standing(await getStatus(door(1), squatter.id)).state).toBe("rejected");
    expect((await getCreds(door(), squatter.peel, squatter.id)).status).not.toBe(200);
  });

  test("goes to a host that an operator has to decide on, and stays with it", async () => {
    const squatter = await squat("web-21", 1);
    const token = await createToken("--peel", "web-*", "--hold", "--uses", "2");
    const reply = await joinWith(newEnrollee("web-21"), token);
    expect(reply).toMatchObject({ status: 201, json: { state: "pending" } });
    expect(await shown(squatter.id)).toMatchObject({ state: "rejected", RejectReason: replaced });
    const { id } = standing(reply);
    expect(await shown(id)).toMatchObject({ state: "pending", proved_by: `token:${token.id}` });
    expect((await svc(bus, "enroll", "list")).stdout).toMatch(/EVIDENCE.*\n(?:.*\n)*.*web-21 .* token /);
    expect(await joinWith(newEnrollee("web-21"), token)).toMatchObject({
      ...{ status: 200, json: { id, key_mismatch: true } },
    });
    await reject(id);
  });

  test("goes to the expected host, and to no other", async () => {
    const squatter = await squat("fab-1");
    const host = newEnrollee("fab-1");
    writeFileSync(join(bus.dir, "hosts"), `fab-1 ${host.publicKey}\n`);
    const added = await svc(bus, "enroll", "expect", join(bus.dir, "hosts"));
    expect([added.code, added.stdout]).toEqual([0, expect.stringContaining("1 ")]);
    expect(await enrollOnce(door(1), newEnrollee("fab-1"))).toMatchObject({
      ...{ status: 200, json: { id: squatter.id, key_mismatch: true } },
    });
    expect(await enrollOnce(door(1), host)).toMatchObject({ status: 201, json: { state: "approved" } });
    expect(await shown(squatter.id)).toMatchObject({
      ...{ state: "rejected", DecidedBy: expect.stringMatching(/^expected:/), RejectReason: replaced },
    });
  });

  test("goes to a host whose certificate a policy accepts", async () => {
    const squatter = await squat("rack-1");
    expect(await enrollOnce(door(), newEnrollee("rack-1"))).toMatchObject({ json: { key_mismatch: true } });
    const reply = await certify(newEnrollee("rack-1"), 1);
    expect(reply).toMatchObject({ status: 201, json: { state: "approved" } });
    expect(await shown(squatter.id)).toMatchObject({ DecidedBy: "policy:racks", RejectReason: replaced });
  });

  test("goes to one of many hosts with a good token that ask two masters at once", async () => {
    const squatter = await squat("web-30");
    const token = await createToken("--peel", "web-*", "--uses", "8");
    const replies = await Promise.all(
      Array.from({ length: 8 }, (_, at) => joinWith(newEnrollee("web-30"), token, at % 2 === 0 ? 0 : 1)),
    );
    expect(replies.filter(({ status }) => status === 201)).toHaveLength(1);
    const all = await json("enroll", "list", "--state", "all");
    const live = all.filter(({ peel_id, state }) => peel_id === "web-30" && state !== "rejected");
    expect(live.map(({ state }) => state)).toEqual(["approved"]);
    expect(await shown(squatter.id)).toMatchObject({ state: "rejected" });
    const [listed] = (await json("enroll", "token", "list")).filter(({ id }) => id === token.id);
    expect(listed).toMatchObject({ uses_left: 7 });
  });
});

describe("a host with a certificate that no policy accepts", () => {
  test("waits next to the stranger: an operator sees both, and approves the right one", async () => {
    const squatter = await squat("web-40");
    const host = newEnrollee("web-40");
    const reply = await certify(host);
    expect([reply.status, standing(reply).state]).toEqual([201, "pending"]);
    const { id } = standing(reply);
    expect(id).not.toBe(squatter.id);
    const listed = await json("enroll", "list");
    expect(listed.filter(({ peel_id }) => peel_id === "web-40")).toEqual([
      expect.objectContaining({ id, evidence: "x509", contested: true }),
      expect.objectContaining({ id: squatter.id, contested: true }),
    ]);
    const list = await svc(bus, "enroll", "list");
    expect(list.stderr).toContain("several hosts wait under one peel id (web-40): compare them");
    // It may come again, on the other master.
    expect(await certify(host, 1)).toMatchObject({ status: 200, json: { id } });

    const many = await svc(bus, "enroll", "approve", "--match", "web-40", "--yes");
    expect([many.code, many.stdout]).toEqual([0, "0 approved, 2 left out\n"]);
    expect(many.stderr).toContain("2 left out: several hosts wait under one peel id (web-40)");

    const approved = await svc(bus, "enroll", "approve", id);
    expect([approved.code, approved.stdout]).toEqual([0, `approved ${id} (web-40)\n`]);
    expect(approved.stderr).toContain(`rejected ${squatter.id}, which waited under the same peel id`);
    expect(await shown(squatter.id)).toMatchObject({
      ...{ state: "rejected", RejectReason: "another host with this peel id was approved" },
    });
    expect((await getCreds(door(1), host, id)).status).toBe(200);
    const [entry] = await json("audit", "list", "--limit", "1");
    expect(entry).toMatchObject({
      ...{ action: "enrollments.approve", subjects: { enrollment: id, rejected: [squatter.id] } },
    });
  });

  test("is rejected when an operator approves the first one", async () => {
    const first = await squat("web-41");
    const { id } = standing(await certify(newEnrollee("web-41"), 1));
    const approved = await svc(bus, "enroll", "approve", first.id);
    expect(approved.stderr).toContain(`rejected ${id}, which waited`);
    expect(standing(await getStatus(door(1), id)).state).toBe("rejected");
  });

  test("is at most the third that waits under a name", async () => {
    const first = await squat("web-42");
    const replies: Reply[] = [];
    for (const at of [0, 1, 0, 1] as const) replies.push(await certify(newEnrollee("web-42"), at));
    expect(replies.map(({ status }) => status)).toEqual([201, 201, 200, 200]);
    expect(replies.slice(2).map(({ json }) => json)).toMatchObject([
      { id: first.id, key_mismatch: true },
      { id: first.id, key_mismatch: true },
    ]);
    const waiting = (await json("enroll", "list")).filter(({ peel_id }) => peel_id === "web-42");
    expect(waiting).toHaveLength(3);
    await reject(...waiting.map(({ id }) => String(id)));
  });
});

describe("places", () => {
  test("one address holds a tenth of them, and a token needs none", async () => {
    const from = freshAddress();
    const submitFrom = async (peel: Enrollee) => {
      const query = new URLSearchParams({ peel_id: peel.peelId, public_key: peel.publicKey });
      const { json } = await call(door(), { path: `/api/v1/enroll/nonce?${query}`, from });
      const nonce = json as Awaited<ReturnType<typeof takeNonce>>;
      return postJson(door(), "/api/v1/enroll", submission(peel, nonce), { from });
    };
    const ids: string[] = [];
    for (const name of ["many-1", "many-2"]) {
      const reply = await submitFrom(newEnrollee(name));
      expect(reply.status).toBe(201);
      ids.push(standing(reply).id);
    }
    const refused = await submitFrom(newEnrollee("many-3"));
    expect([refused.status, refused.headers["retry-after"]]).toEqual([503, "60"]);
    expect(refused.json).toEqual({
      error: expect.stringContaining("too many enrollments from this address are pending"),
    });
    // Another address is not affected.
    ids.push((await squat("many-4")).id);
    await reject(...ids);
  });

  test("a full table refuses strangers alone", async () => {
    // This master has seen what the other one decided before.
    const headers = { authorization: `Bearer ${masters[0].token}` };
    const list = await call(door(), { path: "/api/v1/enrollments?state=pending", headers });
    const held = list.json as Standing[];
    const ids: string[] = [];
    for (let count = held.length; count < 20; count++) ids.push((await squat(`full-${count}`)).id);
    const squatted = await enrollOnce(door(), newEnrollee("full-20"));
    expect([squatted.status, squatted.json]).toEqual([
      503,
      { error: "too many enrollments are pending: try again later, or join with a token" },
    ]);
    const token = await createToken("--uses", "3");
    expect(await joinWith(newEnrollee("web-50"), token)).toMatchObject({
      ...{ status: 201, json: { state: "approved" } },
    });
    // Also under a name that was taken, and with a token that leaves it to an operator.
    expect(await joinWith(newEnrollee("full-19"), token)).toMatchObject({
      ...{ status: 201, json: { state: "approved" } },
    });
    const hold = await createToken("--hold");
    const waiting = await joinWith(newEnrollee("web-51"), hold);
    expect(waiting).toMatchObject({ status: 201, json: { state: "pending" } });
    expect(await certify(newEnrollee("rack-9"))).toMatchObject({
      ...{ status: 201, json: { state: "approved" } },
    });
  });
});
