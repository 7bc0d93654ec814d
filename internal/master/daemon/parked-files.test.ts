import { afterAll, afterEach, beforeAll, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { connectTo, startBus, type TestBus } from "../../../test/harness/bus.ts";
import { manualClock } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { systemRandom } from "../../base/id.ts";
import { sha256Hex } from "../../base/sha256.ts";
import { provision } from "../../bus/assets/assets.ts";
import type { Bus } from "../../bus/connection/connect.ts";
import { openBlobStore } from "../../bus/storage/blob-store.ts";
import { openBucket } from "../../bus/storage/bucket.ts";
import { createApprovals } from "../../fleet/approvals/approvals.ts";
import { partyOf } from "../../fleet/approvals/party.ts";
import { createStarters } from "../../fleet/approvals/starters.ts";
import { followApprovals } from "../../fleet/approvals/view.ts";
import type { OperatorCaller, Passenger } from "../../fleet/operation/mod.ts";
import { newKeyPair } from "../../identity/nkey.ts";
import { createRecordMac } from "../../identity/record-mac.ts";
import { followCatalog } from "../../tree/publication/follow-catalog.ts";
import { createHeadSeal } from "../../tree/publication/head-seal.ts";
import { heldMs } from "../state-files/held-snapshots.ts";
import { readInForce } from "../state-files/in-force.ts";
import { createPublication } from "../state-files/publication.ts";
import { namedSnapshots } from "./named-snapshots.ts";

// A request that waits is stored on a bus, state files are published there, and what is published names the bytes that
// stay. Only jobs and rollouts are left out, and the gate.

let bus: TestBus;
let master: Bus;
const files = temporaryDirectory("parked-files");
const log = recordingLog();
const ttlMs = 24 * 3_600_000;
/** Of bytes that nothing names, and of the time between two searches for them. */
const graceMs = 10 * 60_000;

beforeAll(async () => {
  bus = await startBus();
  master = await connectTo(bus, "master");
  await provision(master, { replicas: 1, onlyRaise: true }, log);
});
afterAll(async () => {
  await master?.nats.close();
  await bus?.[Symbol.asyncDispose]();
  files[Symbol.dispose]();
});

const ends: (() => void)[] = [];
afterEach(() => {
  for (const end of ends.splice(0)) end();
});

const caller = (name: string): OperatorCaller => ({ kind: "operator", name, door: "rest", roles: [name] });
const passenger: Passenger = {
  ...{ operation: "jobs.create", kind: "change", scope: { kind: "jobs", action: "run" } },
  ...{
    input: { function: "state.apply" },
    touched: { peels: { expression: "web-1" } },
    caller: caller("ann"),
  },
};

async function fleet(name: string) {
  const clock = manualClock();
  const bucket = await openBucket(master, "approvals");
  const mac = createRecordMac(newKeyPair("account", systemRandom));
  const view = followApprovals({ bucket, mac, clock, log });
  const approvals = createApprovals({
    ...{ bucket, view, mac, starters: createStarters(), ttlMs, clock, log, random: systemRandom },
    gate: { enter: async () => async () => {} },
    roleGate: { judge: async () => ({ allowed: true, rule: "pair", approvals: 1 }) },
    administrators: () => [],
    rolesNow: ({ roles }) => ({ roles }),
    persons: () => new Map(),
    creatorOf: () => "registered",
  });
  const named = () =>
    namedSnapshots({
      approvals: () => approvals,
      rollouts: { running: async () => [] },
      jobs: { contents: async () => [] },
      releases: { caughtUp: async () => {}, snapshots: () => new Set() },
      log,
    });
  const statesDir = join(files.path, name);
  mkdirSync(statesDir);
  const store = openBlobStore(master, "states");
  const seal = createHeadSeal(newKeyPair("user", systemRandom), clock);
  const catalog = followCatalog({ store, seal, bus: master, clock, log });
  const leaving = new AbortController();
  const tenure = { token: 1, signal: leaving.signal };
  const publication = createPublication(
    {
      ...{ store, seal, statesDir, tenure, named, clock, log, maxEnvironments: 10 },
      recall: catalog.recall,
      onPublished: () => {},
    },
    () => {},
  );
  ends.push(() => {
    leaving.abort();
    view.stop();
    catalog.stop();
  });
  const inForce = readInForce(catalog, { clock, named });
  /** Publishes a tree of one file. @returns its files, and the digest of that one */
  const publish = async (text: string) => {
    writeFileSync(join(statesDir, "web.sls"), text);
    await publication.publish();
    await catalog.reread();
    return { content: await inForce.resolve({ environment: "base" }), blob: sha256Hex(Buffer.from(text)) };
  };
  return {
    ...{ clock, approvals, publish },
    park: async (content: Awaited<ReturnType<typeof publish>>["content"]) =>
      (await approvals.park(passenger, { needs: 1, rule: "pair", peels: ["web-1"], content })).approval,
    isStored: async (blob: string) => (await store.list()).has(blob),
    isPublished: (content: Awaited<ReturnType<typeof publish>>["content"]) =>
      inForce.assertPublished(content).then(
        () => true,
        () => false,
      ),
    /** As long as it takes until what nothing names is gone: replaced, not needed, found, removed. */
    async pass(prefix: string) {
      for (let at = 0; at < 12; at++) {
        clock.advance(Math.max(heldMs, graceMs));
        // Of another size each time: two writes of one moment can have one time.
        await publish(`${prefix}: ${"x".repeat(at)}`);
      }
    },
  };
}

type Fleet = Awaited<ReturnType<typeof fleet>>;
const ben = () => partyOf(caller("ben"), 0);

test.each<[how: string, end: (one: Fleet, id: string) => unknown]>([
  ["is denied", (one, id) => one.approvals.deny(id, ben())],
  ["expires", (one) => one.clock.advance(ttlMs)],
])("the files of a request that waits stay, and are removed when it %s", async (how, end) => {
  const one = await fleet(how.replace(" ", "-"));
  const agreed = await one.publish(`agreed ${how}`);
  const other = await one.publish(`nobody needs this ${how}`);
  const id = await one.park(agreed.content);
  await one.pass(`waiting ${how}`);
  expect([await one.isPublished(agreed.content), await one.isStored(agreed.blob)]).toEqual([true, true]);
  // The control: without a request the same time removes files.
  expect([await one.isPublished(other.content), await one.isStored(other.blob)]).toEqual([false, false]);
  await end(one, id);
  await one.pass(`ended ${how}`);
  expect([await one.isPublished(agreed.content), await one.isStored(agreed.blob)]).toEqual([false, false]);
});
