import { afterAll, beforeAll, expect, test } from "bun:test";
import { connectTo, startBus, type TestBus } from "../../../test/harness/bus.ts";
import { manualClock } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { systemClock } from "../../base/clock.ts";
import { systemRandom } from "../../base/id.ts";
import { provision } from "../../bus/assets/assets.ts";
import type { Bus } from "../../bus/connection/connect.ts";
import { streamEnds } from "../../bus/streams/position.ts";
import { newKeyPair } from "../../identity/nkey.ts";
import { createAuditWriter } from "./append.ts";
import { createRecorder } from "./recorder.ts";
import { createRepeats } from "./repeats.ts";
import { followRevokedTokens, type RevokedToken } from "./revoked-tokens.ts";

// What masters learn from the audit, on a bus whose owner deletes everything else.

let server: TestBus;
let bus: Bus;
const key = newKeyPair("user", systemRandom);
const thief = newKeyPair("user", systemRandom);
const keys = () => [key.publicKey];
const log = recordingLog();
beforeAll(async () => {
  server = await startBus();
  bus = await connectTo(server, "master");
  await provision(bus, { replicas: 1, onlyRaise: true }, log);
});
afterAll(async () => {
  await bus.drain();
  await server[Symbol.asyncDispose]();
});

function master(signer = key, clock = systemClock) {
  const audit = createAuditWriter({ bus, master: "one", signer, keys, clock, log });
  const repeats = createRepeats({ bus, keys, clock });
  return { audit, repeats, recorder: createRecorder({ audit, repeats, clock, log }) };
}
const request = (action: string, operator = "UANN") => ({
  ...{ operator: "ann", key: operator, via: "bus" as const, action, subjects: { rollout: "web" } },
  ...{ requestId: "", requestDigest: new Uint8Array(32) },
});
const begins = (one: ReturnType<typeof master>, nonce?: string, of = request("rollouts.start")) =>
  one.recorder.begin(of, nonce).then(
    () => "begun",
    (thrown: { kind: string }) => thrown.kind,
  );

test("a signed request begins once, on whichever master, and also after a restart", async () => {
  const [one, two] = [master(), master()];
  expect(await begins(one, "aa")).toBe("begun");
  expect(await begins(two, "aa")).toBe("unauthorized");
  expect(await begins(master(), "aa")).toBe("unauthorized");
  expect(await begins(two, "bb")).toBe("begun");
  expect(await begins(one, "bb")).toBe("unauthorized");
  // The nonce of another operator, another operation, and what nobody signed, or others agreed to.
  expect(await begins(two, "aa", request("rollouts.start", "UBOB"))).toBe("begun");
  expect(await begins(two, "aa", request("rollouts.abort"))).toBe("begun");
  expect([await begins(two), await begins(two)]).toEqual(["begun", "begun"]);
});

test("of two masters that take a request at the same moment one begins", async () => {
  const masters = Array.from({ length: 4 }, () => master());
  const ended = await Promise.all(masters.map((one) => begins(one, "cc")));
  expect(ended.sort()).toEqual(["begun", "unauthorized", "unauthorized", "unauthorized"]);
  const many = await Promise.all(
    Array.from({ length: 60 }, (_, at) => begins(masters[at % 4] ?? master(), `many-${at % 30}`)),
  );
  expect(many.filter((outcome) => outcome === "begun")).toHaveLength(30);
});

test("in a stream that was made again, an entry at the place where the earlier one ended is found", async () => {
  await using second = await startBus();
  const other = await connectTo(second, "master");
  await provision(other, { replicas: 1, onlyRaise: true }, log);
  let used: Bus = bus;
  const switched = new Proxy(bus, {
    get: (target, property) => Reflect.get(property === "nats" ? used : target, property),
  });
  const repeats = createRepeats({ bus: switched, keys, clock: systemClock });
  const requested = { action: "rollouts.start", key: "UANN" };
  const writes = (on: Bus, nonce: string) =>
    createAuditWriter({ bus: on, master: "one", signer: key, keys, clock: systemClock, log }).append({
      ...request("rollouts.start"),
      ...{ outcome: "begun", subjects: { nonce } },
    });
  const { seq } = await writes(bus, "first");
  expect(await repeats.isRepeated({ ...requested, nonce: "first" }, seq)).toBe(false);
  for (let at = 1; at < seq; at++) await writes(other, `filler-${at}`);
  expect((await writes(other, "second")).seq).toBe(seq);
  used = other;
  expect(await repeats.isRepeated({ ...requested, nonce: "second" }, seq)).toBe(false);
  await other.drain();
});

test("what no master wrote keeps nobody from asking", async () => {
  await master(thief).audit.append({
    ...request("rollouts.start"),
    ...{ outcome: "begun", subjects: { nonce: "dd" } },
  });
  expect(await begins(master(), "dd")).toBe("begun");
});

test("nothing is kept longer than a request can be repeated", async () => {
  const clock = manualClock(systemClock.now());
  const one = master(key, clock);
  expect(await begins(one, "ee")).toBe("begun");
  expect(await begins(one, "ee")).toBe("unauthorized");
  clock.advance(6 * 60_000);
  expect(await begins(one, "ee")).toBe("begun");
});

test("revoked tokens are learned from what masters wrote and did", async () => {
  const learned: RevokedToken[] = [];
  const read = followRevokedTokens({ bus, keys, take: (token) => learned.push(token) });
  const expires = "2027-01-01T00:00:00.000Z";
  const revoked = (id: string, more: object = {}, signer = key) =>
    master(signer).audit.append({
      ...{ ...request("tokens.revoke"), outcome: "done", subjects: { token_id: id, token_expires: expires } },
      ...more,
    });
  await revoked("tok-1");
  await revoked("tok-2", { outcome: "failed" });
  await revoked("tok-3", {}, thief);
  await revoked("tok-4", { action: "tokens.create" });
  await revoked("tok-5", { subjects: { token_id: "tok-5", token_expires: "soon" } });
  await read(await streamEnds(bus, "audit"));
  await revoked("tok-6");
  await read(await streamEnds(bus, "audit"));
  await read(await streamEnds(bus, "audit"));
  const expiresAt = Date.parse(expires);
  expect(learned).toEqual([
    { id: "tok-1", expiresAt },
    { id: "tok-6", expiresAt },
  ]);
});
