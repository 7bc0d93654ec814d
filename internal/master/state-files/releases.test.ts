import { afterAll, beforeAll, beforeEach, expect, test } from "bun:test";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { connectTo, startBus, type TestBus } from "../../../test/harness/bus.ts";
import { contentsOf } from "../../../test/harness/contents.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { temporaryDirectory } from "../../../test/harness/temporary.ts";
import { systemClock } from "../../base/clock.ts";
import { systemRandom } from "../../base/id.ts";
import { provision } from "../../bus/assets/assets.ts";
import type { Bus } from "../../bus/connection/connect.ts";
import { type BlobStore, openBlobStore } from "../../bus/storage/blob-store.ts";
import { newKeyPair } from "../../identity/nkey.ts";
import { decodeCatalog, emptyCatalog, findSnapshot } from "../../tree/files/catalog.ts";
import { snapshotOf } from "../../tree/files/snapshot.ts";
import { createHeadSeal } from "../../tree/publication/head-seal.ts";
import type { Refusal } from "./decide.ts";
import { createPublication, type Publication } from "./publication.ts";
import type { Releases } from "./releases.ts";

// What comes into force on a master that requires releases, with a bus and a directory of state files.

let bus: TestBus;
let owner: Bus;
let store: BlobStore;
const log = recordingLog();
const directory = temporaryDirectory("candidates");
const statesDir = join(directory.path, "states");
const key = newKeyPair("user", systemRandom);
const seal = createHeadSeal(key, systemClock);

beforeAll(async () => {
  bus = await startBus();
  owner = await connectTo(bus, "master");
  await provision(owner, { replicas: 1, onlyRaise: true }, log);
  store = openBlobStore(owner, "states");
});
afterAll(async () => {
  await owner?.nats.close();
  await bus?.[Symbol.asyncDispose]();
  directory[Symbol.dispose]();
});
beforeEach(async () => {
  await wipe();
  rmSync(statesDir, { recursive: true, force: true });
  mkdirSync(statesDir);
});

/** The bus loses all state files. */
async function wipe(): Promise<void> {
  const manager = await owner.nats.jetstreamManager({ checkAPI: false });
  await manager.streams.purge("OBJ_states");
}

const push = (text: string) => writeFileSync(join(statesDir, "web.sls"), text);
const digestOf = (text: string) => snapshotOf(contentsOf({ "web.sls": text }));

/** Masters, of which one publishes at a time. */
function fleet() {
  let token = 0;
  const released = new Map<string, { snapshot: string; version: number }>();
  const named = new Set<string>();
  let refusals: readonly Refusal[] = [];
  let broken = "";
  const releases: Releases = {
    caughtUp: async () => {},
    newest: (environment) => released.get(environment),
    onChange: () => () => {},
  };
  const start = (requires = true): Publication =>
    createPublication(
      {
        ...{ store, seal, statesDir, clock: systemClock, log, maxEnvironments: 9 },
        tenure: { token: ++token, signal: new AbortController().signal },
        named: async () => named,
        releases: requires ? releases : undefined,
        stages: [
          {
            name: "states",
            judge: ({ files }) => (snapshotOf(files) === digestOf(broken) ? "broken" : undefined),
          },
        ],
        onPublished: () => {},
        onRefusals(now) {
          refusals = now;
        },
      },
      () => {},
    );
  return {
    start,
    breaks(text: string) {
      broken = text;
    },
    release(text: string, version = (released.get("base")?.version ?? 0) + 1) {
      released.set("base", { snapshot: digestOf(text), version });
      named.add(digestOf(text));
    },
    withdraw: () => released.clear(),
    refusals: () => refusals.map(({ stage, reason }) => `${stage}: ${reason}`),
  };
}

async function catalog() {
  const head = await store.head();
  const data = head?.digest === undefined ? undefined : await store.get(head.digest);
  return data === undefined ? emptyCatalog() : decodeCatalog(data);
}
async function inForce(): Promise<string | undefined> {
  return (await catalog()).environments.get("base")?.[0]?.snapshot;
}
const waits = async () => (await catalog()).candidates.get("base")?.map(({ snapshot }) => snapshot);

test("in a new fleet nothing is in force before a release, and then what was released last", async () => {
  const { start, release, refusals } = fleet();
  const master = start();
  push("one");
  await master.publish();
  expect([await inForce(), await waits()]).toEqual([undefined, [digestOf("one")]]);
  const waiting = await catalog();
  expect(() => findSnapshot(waiting, "base")).toThrow("no state files are released");
  expect(findSnapshot(waiting, "base", { snapshot: digestOf("one") }).snapshot).toBe(digestOf("one"));
  expect(refusals()).toEqual(["release: nobody released the environment: svc states release"]);
  release("one");
  await master.publish();
  expect([await inForce(), await waits(), refusals()]).toEqual([digestOf("one"), undefined, []]);

  push("two");
  await master.publish();
  push("three");
  await master.publish();
  expect([await inForce(), await waits()]).toEqual([digestOf("one"), [digestOf("three"), digestOf("two")]]);
  // The master that published ends, and the next one finds a release of files that are not the newest.
  release("two");
  const next = start();
  await next.publish();
  expect([await inForce(), await waits()]).toEqual([digestOf("two"), [digestOf("three")]]);
  // A rollback.
  release("one");
  await next.publish();
  expect([await inForce(), await waits()]).toEqual([digestOf("one"), [digestOf("three")]]);
});

test("what was in force stays until the first release, and what was pushed comes where none is required", async () => {
  const { start, release } = fleet();
  push("one");
  await start(false).publish();
  const master = start();
  push("two");
  await master.publish();
  expect([await inForce(), await waits()]).toEqual([digestOf("one"), [digestOf("two")]]);
  release("one");
  await master.publish();
  expect([await inForce(), await waits()]).toEqual([digestOf("one"), [digestOf("two")]]);
  await start(false).publish();
  expect([await inForce(), await waits()]).toEqual([digestOf("two"), undefined]);
  // Required again: what was released last, and not what came into force meanwhile.
  await start().publish();
  expect([await inForce(), await waits()]).toEqual([digestOf("one"), [digestOf("two")]]);
});

test("broken files do not become a candidate, and the one before waits on", async () => {
  const { start, release, breaks, refusals } = fleet();
  const master = start();
  push("one");
  release("one");
  await master.publish();
  push("two");
  await master.publish();
  breaks("bad");
  push("bad");
  await master.publish();
  expect([await inForce(), await waits(), refusals()]).toEqual([
    ...[digestOf("one"), [digestOf("two")], ["states: broken"]],
  ]);
  release("two");
  await master.publish();
  expect([await inForce(), await waits()]).toEqual([digestOf("two"), undefined]);
});

test("a release that no longer counts gives way to the one before, and without one what is in force stays", async () => {
  const { start, release, withdraw } = fleet();
  const master = start();
  for (const text of ["one", "two"]) {
    push(text);
    release(text);
    await master.publish();
  }
  release("one", 1);
  await master.publish();
  expect([await inForce(), await waits()]).toEqual([digestOf("one"), [digestOf("two")]]);
  withdraw();
  await start().publish();
  expect([await inForce(), await waits()]).toEqual([digestOf("one"), [digestOf("two")]]);
});

test("files that were released and that masters have lost are named, and nothing else is in their place", async () => {
  const { start, release, refusals } = fleet();
  push("one");
  release("one");
  await start().publish();
  push("two");
  await start().publish();
  await wipe();
  await start().publish();
  expect([await inForce(), await waits()]).toEqual([undefined, [digestOf("two")]]);
  expect(refusals()).toContain(
    `states: masters do not have the files ${digestOf("one").slice(0, 12)} of release 1: push them again, or release others`,
  );
  push("one");
  await start().publish();
  expect([await inForce(), await waits(), refusals()]).toEqual([digestOf("one"), undefined, []]);
});
