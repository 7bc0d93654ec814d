import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { createHmac } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { decode } from "../../internal/base/msgpack.ts";
import { startBus, type TestBus } from "../harness/bus.ts";
import { type Reply, type Send, send } from "../harness/client.ts";
import { type Enrollee, newEnrollee, nkeyHeader, submission } from "../harness/enrollee.ts";
import { binaries, type MasterDaemon, startMasterBinary, svc } from "../harness/fleet.ts";
import { runProgram } from "../harness/process.ts";
import { until } from "../harness/until.ts";

// Hosts that join with a token, and strangers at the same address, on a compiled master without enroll.networks.

setDefaultTimeout(120_000);

let bus: TestBus;
let master: MasterDaemon;

beforeAll(async () => {
  bus = await startBus();
  const enroll = { addr: "127.0.0.1:0" };
  master = await startMasterBinary(bus, [], {}, [], {}, undefined, { enroll });
});
afterAll(async () => {
  await master?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

interface Token {
  text: string;
  id: string;
  secret: Uint8Array;
}

async function createToken(uses: number): Promise<Token> {
  const argv = ["enroll", "token", "create", "--uses", String(uses), "--url", master.url];
  const { code, stdout, stderr } = await svc(bus, ...argv);
  if (code !== 0) throw new Error(stderr);
  const text = stdout.trim();
  const { id, secret } = decode(Buffer.from(text.split(".")[1] ?? "", "base64url")) as Omit<Token, "text">;
  return { text, id, secret };
}

const from = (source: string, options: Send) => send(master.url, bus.caPem, { ...options, from: source });

function fetchNonce(source: string, peel: Enrollee, token?: Pick<Token, "id">): Promise<Reply> {
  const named = token === undefined ? {} : { token: token.id };
  const query = new URLSearchParams({ peel_id: peel.peelId, public_key: peel.publicKey, ...named });
  return from(source, { path: `/api/v1/enroll/nonce?${query}` });
}

function prove(source: string, peel: Enrollee, token: Token, nonce: Reply): Promise<Reply> {
  const fields = nonce.json as Parameters<typeof submission>[1];
  const challenge = Buffer.from(fields.challenge, "base64");
  const proof = createHmac("sha256", token.secret)
    .update(Buffer.concat([challenge, Buffer.from(`\0${peel.publicKey}`)]))
    .digest("base64");
  return from(source, {
    ...{ method: "POST", path: "/api/v1/enroll", headers: { "content-type": "application/json" } },
    body: JSON.stringify({ ...submission(peel, fields), token: { id: token.id, proof } }),
  });
}

/** Joins as often as it takes. @returns how many requests were one too many */
async function joinFrom(source: string, token: Token): Promise<number> {
  const peel = newEnrollee();
  for (let refused = 0; ; refused++) {
    const nonce = await fetchNonce(source, peel, token);
    if (nonce.status === 429) continue;
    const answer = await prove(source, peel, token, nonce);
    if (answer.status === 429) continue;
    expect(answer.json).toMatchObject({ state: "approved" });
    const { id } = answer.json as { id: string };
    const headers = { authorization: nkeyHeader(peel, id) };
    const path = `/api/v1/enroll/${id}/creds`;
    let credentials = await from(source, { path, headers });
    for (; credentials.status === 429; refused++) credentials = await from(source, { path, headers });
    expect(credentials.status).toBe(200);
    return refused;
  }
}

/** Requests without a token, one after the other. @returns how many were served */
async function flood(source: string, count: number, token?: Token): Promise<number> {
  let served = 0;
  for (let n = 0; n < count; n++) {
    const { status } = await fetchNonce(source, newEnrollee(), token);
    if (status === 200) served++;
  }
  return served;
}

test("svc status and svc doctor name the address that is limited most, and what to write", async () => {
  const source = "127.78.0.1";
  await flood(source, 60);
  const line = `enroll.networks: {site-127-78-0-1: {cidr: [${source}/32], capacity: 500, refill: 1s, connections: 500}}`;
  // A heartbeat says it.
  await until(
    async () => (await svc(bus, "status")).stdout,
    (shown) => shown.includes(line),
  );
  const { masters } = JSON.parse((await svc(bus, "status", "--output", "json")).stdout);
  expect(masters[0].limited).toContainEqual({ source: `${source}/32`, refused: expect.any(Number) });
  expect((await svc(bus, "doctor")).stdout).toContain(`${source}/32 is limited: `);
});

test("100 hosts behind one address join with a token while strangers there spend what the address has", async () => {
  const source = "127.77.0.1";
  const token = await createToken(100);
  const strangers = await flood(source, 40);
  expect(strangers).toBeLessThan(40);
  // Eight at a time: as many handshakes as one address may have.
  const lanes = Array.from({ length: 8 }, async (_, lane) => {
    for (let n = lane; n < 100; n += 8) await joinFrom(source, token);
  });
  await Promise.all(lanes);
  const shown = JSON.parse((await svc(bus, "enroll", "token", "show", token.id, "--output", "json")).stdout);
  expect(shown).toMatchObject({ state: "used up", uses_left: 0 });
  // It has a place no longer, and the address has no more than before.
  expect(await flood(source, 40, token)).toBeLessThan(40);
});

test("svc-peel join is not refused for a flood at its address", async () => {
  const token = await createToken(3);
  const joinHost = async (name: string) => {
    const dir = join(bus.dir, name);
    mkdirSync(dir);
    const file = join(dir, "token");
    writeFileSync(file, token.text, { mode: 0o600 });
    const argv = ["--config", join(dir, "peel.yaml"), "--id", name, "--once", "--token-file", file];
    const env = { SVC_DATA_DIR: join(dir, "data") };
    const { code, stderr } = await runProgram([binaries.peel, "join", ...argv], { env });
    return { code, isRefused: stderr.includes("too many requests from this address") };
  };
  // One address of this machine: that of svc-peel.
  expect(await flood("127.0.0.1", 40)).toBeLessThan(40);
  for (const name of ["host-1", "host-2", "host-3"])
    expect(await joinHost(name)).toEqual({ code: 0, isRefused: false });
});

test("a flood in the name of a token, and a wrong proof, cost their own address alone", async () => {
  const token = await createToken(50);
  const [strangers, hosts] = ["127.77.0.2", "127.77.0.3"];
  // 10 for the token, and 10 of their own.
  expect(await flood(strangers, 60, token)).toBeLessThan(60);
  await joinFrom(hosts, token);
  const liar = "127.77.0.4";
  const peel = newEnrollee();
  const wrong = { ...token, secret: new Uint8Array(32) };
  expect((await prove(liar, peel, wrong, await fetchNonce(liar, peel, token))).status).toBe(401);
  // Its own budget is all that it has now, and one request of it is spent.
  expect(await flood(liar, 16, token)).toBeLessThan(16);
  await joinFrom(hosts, token);
});
