import { afterAll, beforeAll, expect, test } from "bun:test";
import { connectTo, startBus, type TestBus } from "../../../test/harness/bus.ts";
import { manualClock } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { systemClock } from "../../base/clock.ts";
import { systemRandom } from "../../base/id.ts";
import { provision } from "../../bus/assets/assets.ts";
import type { Bus } from "../../bus/connection/connect.ts";
import { newKeyPair } from "../../identity/nkey.ts";
import { createAuditWriter } from "./append.ts";
import { listEntries, showEntry } from "./read.ts";
import { createRecorder } from "./recorder.ts";
import { createRepeats } from "./repeats.ts";

let server: TestBus;
let bus: Bus;
const key = newKeyPair("user", systemRandom);
const log = recordingLog();
const clock = systemClock;
const keys = () => [key.publicKey];
const what = (operator: string, action = "jobs.create") => ({
  ...{ operator, key: "", via: "bus" as const, action, subjects: { peel: operator }, requestId: "" },
  requestDigest: new Uint8Array(32),
});

beforeAll(async () => {
  server = await startBus();
  bus = await connectTo(server, "master");
  await provision(bus, { replicas: 1, onlyRaise: true }, log);
  const manager = await bus.nats.jetstreamManager();
  const { config } = await manager.streams.info("audit");
  await manager.streams.update("audit", { ...config, max_bytes: 64 * 1024 * 1024 });
});
afterAll(async () => {
  await bus.drain();
  await server[Symbol.asyncDispose]();
});

test("what began and has no end is unknown after a while, and nothing else is said of it", async () => {
  const audit = createAuditWriter({ bus, master: "one", signer: key, keys, clock, log });
  const recorder = createRecorder({
    ...{ audit, repeats: createRepeats({ bus, keys, clock }), clock: manualClock(), log },
  });
  const end = await recorder.begin(what("ann"));
  // The master is killed here, for all that the audit knows.
  await recorder.begin(what("bob"));
  await end({ outcome: "done" });
  const at = (ms: number) => ({ bus, keys, now: () => systemClock.now() + ms });
  const outcomes = async (ms: number) =>
    (await listEntries(at(ms), {}, { limit: 10 })).entries.map(
      ({ operator, outcome }) => `${operator} ${outcome}`,
    );
  expect(await outcomes(0)).toEqual(["ann done", "bob begun", "ann begun"]);
  expect(await outcomes(11 * 60_000)).toEqual(["ann done", "bob unknown", "ann begun"]);
  const unknown = await listEntries(at(11 * 60_000), { outcome: "unknown" }, { limit: 10 });
  expect(unknown.entries.map(({ seq }) => seq)).toEqual([2]);
  expect(await showEntry(at(11 * 60_000), 2)).toMatchObject({
    outcome: "unknown",
    operator: "bob",
    genuine: true,
  });
  await expect(showEntry(at(0), 99)).rejects.toMatchObject({ kind: "not_found" });
});

test("a long audit is read in pages, each of which looks at so much and no more", async () => {
  const audit = createAuditWriter({ bus, master: "one", signer: key, keys, clock, log });
  const count = 9_000;
  for (let done = 0; done < count; done += 3_000) {
    await Promise.all(
      Array.from({ length: 3_000 }, (_, at) =>
        audit.append({ ...what(done + at === 10 ? "rare" : "usual"), outcome: "done" }),
      ),
    );
  }
  const deps = { bus, keys, now: systemClock.now };
  const all = await listEntries(deps, {}, { limit: 3 });
  expect(all).toMatchObject({ entries: [{ seq: 9_003 }, { seq: 9_002 }, { seq: 9_001 }], next: 9_001 });
  let pages = 0;
  const found: number[] = [];
  for (let before: number | undefined; ; pages++) {
    const page = await listEntries(deps, { operator: "rare" }, { limit: 3, before });
    found.push(...page.entries.map(({ seq }) => seq));
    if (page.next === undefined) break;
    before = page.next;
  }
  expect(found).toEqual([14]);
  expect(pages).toBe(2);
});

test("what no master signed is shown as not genuine", async () => {
  const stranger = newKeyPair("user", systemRandom);
  const forger = createAuditWriter({ bus, master: "one", signer: stranger, keys, clock, log });
  await forger.append({ ...what("mallory"), outcome: "done" });
  const { entries } = await listEntries({ bus, keys, now: systemClock.now }, {}, { limit: 2 });
  expect(entries.map(({ operator, genuine }) => [operator, genuine])).toEqual([
    ["mallory", false],
    ["usual", true],
  ]);
});
