import { expect, test } from "bun:test";
import { manualClock } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { SvcError } from "../../base/errors.ts";
import { encode, type Plain } from "../../base/msgpack.ts";
import type { Bucket, Change } from "../../bus/storage/mod.ts";
import type { Content } from "../../wire/content.ts";
import type { KnownRun } from "../compliance/status.ts";
import type { Member } from "../enrollment/store/mod.ts";
import type { LastJob } from "../jobs/last-jobs.ts";
import { type Call, invoke, type RawRequest } from "../operation/mod.ts";
import { createFleetIndex } from "../targeting/fleet-index.ts";
import { createPace } from "../targeting/pace.ts";
import { createResolver } from "../targeting/resolver.ts";
import { createAddresses } from "./addresses.ts";
import { listPeels, showPeel } from "./operations.ts";
import type { PeelsDeps, ShownPeel } from "./peel.ts";

/** A bucket that is only watched: to read it is a failure of the test. */
function watchedBucket() {
  const watchers: ((change: Change) => void)[] = [];
  let revision = 0;
  const forbidden = async () => {
    throw new Error("a bucket was read");
  };
  const bucket = {
    watch(run: (change: Change) => void) {
      watchers.push(run);
      return { ready: Promise.resolve(), caughtUp: async () => {}, stop: () => {} };
    },
    get: forbidden,
    entries: forbidden,
  } as unknown as Bucket;
  const put = (key: string, value: Plain, storedAt: number) => {
    revision++;
    for (const run of watchers) run({ key, value: encode(value), revision, storedAt });
  };
  return { bucket, put };
}

async function fleetOf(members: readonly string[]) {
  const clock = manualClock(Date.parse("2026-01-01T00:00:00Z"));
  const log = recordingLog();
  const [facts, heartbeats] = [watchedBucket(), watchedBucket()];
  const known = new Map<string, Member>(
    members.map((id) => [id, { id: `enr-${id}`, state: "active", credsExpiresAt: clock.now() + 1_000 }]),
  );
  const directory = {
    members: () => members,
    caughtUp: async () => {},
    labelsOf: (peelId: string) => known.get(peelId)?.labels,
    memberOf: (peelId: string) => known.get(peelId),
    stateOf: (peelId: string) => (peelId === "new-1" ? ("pending" as const) : known.get(peelId)?.state),
  };
  const buckets = { facts: facts.bucket, heartbeats: heartbeats.bucket };
  const index = createFleetIndex({ members: directory.members, ...buckets, clock, log });
  await index.ready;
  const resolver = createResolver({
    ...{ directory, index, ...buckets, pace: createPace(), log },
    groups: { current: () => new Map() },
    settings: async () => new Map(),
  });
  const versions = new Map<string, number>();
  const lastJobs = new Map<string, LastJob>();
  const runs = new Map<string, KnownRun>();
  const published: Content[] = [];
  const addresses = createAddresses();
  const deps: PeelsDeps = {
    ...{ directory, index, resolver },
    settings: { versionOf: (peelId) => versions.get(peelId) },
    jobs: { lastJobOf: (peelId) => lastJobs.get(peelId) },
    compliance: { runOf: (peelId) => runs.get(peelId) },
    silences: { sinceOf: (peelId) => index.lifeOf(peelId).since },
    addresses,
    files: { published: () => published.at(-1) },
    clock,
  };
  const call: Call = { caller: { kind: "operator", name: "ann", door: "bus" }, log, clock };
  const list = (
    fields: RawRequest["fields"] = {},
    { answerBytes = 1024 * 1024, ...own }: Partial<PeelsDeps & Call> = {},
  ) => invoke(listPeels, { ...deps, ...own }, { fields }, { ...call, answerBytes });
  const show = (id: string) => invoke(showPeel, deps, { fields: { id } }, call);
  return {
    ...{ clock, known, versions, lastJobs, runs, published, addresses, list, show },
    facts: (peel: string, value: Plain) => facts.put(peel, value, clock.now()),
    beat: (peel: string) => heartbeats.put(peel, {}, clock.now()),
  };
}

const messageOf = (requested: Promise<unknown>) =>
  requested.then(
    () => "no failure",
    (thrown) => (thrown instanceof SvcError ? `${thrown.kind}: ${thrown.message}` : String(thrown)),
  );

test("a peel has the address of its newest connection, and before the first one that of its enrollment", async () => {
  const { known, addresses, show } = await fleetOf(["web-1"]);
  known.set("web-1", { id: "enr-2", state: "issued", address: "192.0.2.7" });
  const addressOf = async () => (await show("web-1")).peel.address;
  expect(await addressOf()).toBe("192.0.2.7");
  addresses.seen("web-1", "198.51.100.1");
  addresses.seen("web-1", "2001:db8::1");
  // A server that does not say where from.
  addresses.seen("web-1", undefined);
  expect(await addressOf()).toBe("2001:db8::1");
});

test("a peel has its last state run, and the state files of it", async () => {
  const { clock, runs, show } = await fleetOf(["web-1"]);
  const counts = { ok: 3, changed: 1, failed: 0, skipped: 0, would_change: 0, duration_ms: 5 };
  const run = { run_at: "2025-12-31T23:00:00.000Z", trigger: "schedule" as const, test: false, ...counts };
  const report = { ...run, environment: "base", commit: "0123abc", failures: [], drift: [] };
  runs.set("web-1", { report, storedAt: clock.now() });
  const last_run = { ...run, environment: "base", commit: "0123abc", status: "drifted" };
  expect(await show("web-1")).toMatchObject({ peel: { environment: "base", commit: "0123abc", last_run } });
  const snapshot = "5c".repeat(32);
  runs.set("web-1", { report: { ...report, commit: "", snapshot }, storedAt: clock.now() });
  expect(await show("web-1")).toMatchObject({
    peel: { commit: "local", snapshot: Buffer.from(snapshot, "hex"), last_run: { commit: "local" } },
  });
  runs.set("web-1", { report: { ...report, commit: "" }, storedAt: clock.now() });
  clock.advance(24 * 3_600_000);
  const { peel } = await show("web-1");
  expect([peel.commit, peel.last_run?.status]).toEqual([undefined, "stale"]);
});

test("a peel has what the master knows of it, and nothing else", async () => {
  const { clock, known, list, show, facts, beat } = await fleetOf(["db-1_example", "web-1"]);
  known.set("web-1", { id: "enr-2", state: "issued", address: "192.0.2.7", labels: { env: "prod" } });
  beat("db-1_example");
  facts("db-1_example", { os: "Debian", osrelease: "12", svc_version: "1.2.3", secret: "no" });
  const db: Omit<ShownPeel, "alive"> = {
    ...{ id: "db-1.example", peel_id: "db-1_example", enrollment_id: "enr-db-1_example" },
    state: "active",
    ...{ version: "1.2.3", os: "Debian 12", labels: {}, creds_expires_at: "2026-01-01T00:00:01.000Z" },
  };
  const web: ShownPeel = {
    ...{ id: "web-1", peel_id: "web-1", enrollment_id: "enr-2", alive: false },
    state: "issued",
    ...{ address: "192.0.2.7", labels: { env: "prod" } },
  };
  clock.advance(10_000);
  const alive = { ...db, alive: true, alive_since: "2026-01-01T00:00:00.000Z" };
  expect(await list()).toEqual({ peels: [alive, web] });
  expect(await show("db-1.example")).toEqual({ peel: alive });
  expect(await show("db-1_example")).toEqual({ peel: alive });
  clock.advance(60_000);
  const silent = { ...db, alive: false, silent_since: "2026-01-01T00:00:30.000Z" };
  expect(await list({ target: "G@os:debian" })).toEqual({ peels: [silent] });
  expect(await list({ target: "T@env:prod" })).toEqual({ peels: [web] });
  expect(await list({ target: "nothing*" })).toEqual({ peels: [] });
  beat("db-1_example");
  expect(await show("db-1.example")).toMatchObject({ peel: { alive_since: "2026-01-01T00:01:10.000Z" } });
});

test("a peel has the version of its settings and its last job, also in lists", async () => {
  const { versions, lastJobs, list, show } = await fleetOf(["db-1", "web-1"]);
  versions.set("web-1", 1_767_225_600_000);
  const job = { jid: "job-1", function: "state.apply", outcome: "failed" } as const;
  lastJobs.set("web-1", { ...job, at: Date.parse("2026-01-01T00:00:00Z") });
  const known = { settings_version: 1_767_225_600_000, last_job: { ...job, at: "2026-01-01T00:00:00.000Z" } };
  expect((await show("web-1")).peel).toMatchObject(known);
  const [db, web] = (await list()).peels;
  expect(web).toMatchObject(known);
  expect([db?.settings_version, db?.last_job]).toEqual([undefined, undefined]);
});

test("what a peel says of itself is shortened, and only a text or a number", async () => {
  const { show, facts } = await fleetOf(["web-1"]);
  facts("web-1", { os: "x".repeat(500), osrelease: ["12"], svc_version: { a: 1 } });
  const { peel } = await show("web-1");
  expect([peel.os, peel.version]).toEqual(["x".repeat(100), undefined]);
  facts("web-1", { os: "Void", osrelease: 5 });
  expect((await show("web-1")).peel.os).toBe("Void 5");
});

test.each([
  [
    "an unknown peel",
    "web-2",
    'not_found: the peel "web-2" does not exist (did you mean web-1?): see svc peels list',
  ],
  [
    "the short name of a host",
    "db-1",
    'not_found: the peel "db-1" does not exist (did you mean db-1.example?): see svc peels list',
  ],
  ["a host that waits", "new-1", "not_found: new-1 is not a member of the fleet: its enrollment is pending"],
])("%s is not shown", async (_, id, message) => {
  const { show } = await fleetOf(["db-1_example", "web-1"]);
  expect(await messageOf(show(id))).toBe(message);
});

test.each([
  ["a target that does not parse", { target: "web and" }, /^bad_request: target: column /],
  ["a limit", { limit: 1_001 }, /limit.*must be 1 to 1000/],
  ["a cursor", { cursor: "a b" }, /cursor.*must be the value that the previous page returned/],
])("%s is refused with what was expected", async (_, fields, message) => {
  const { list } = await fleetOf(["web-1"]);
  expect(await messageOf(list(fields))).toMatch(message);
});

test("a master that has not read the fleet does not call it silent", async () => {
  const { list } = await fleetOf(["web-1"]);
  const index = { running: false } as PeelsDeps["index"];
  expect(await messageOf(list({}, { index }))).toMatch(/^unavailable: the fleet is not read completely yet/);
});

test("10,000 peels come page by page, each once, and no bucket is read for it", async () => {
  const members = Array.from({ length: 10_000 }, (_, at) => `web-${`${at}`.padStart(5, "0")}`);
  const { list, facts, beat } = await fleetOf(members);
  for (const peel of members) {
    facts(peel, { os: "Debian", osrelease: "12" });
    beat(peel);
  }
  const found: string[] = [];
  let pages = 0;
  for (let cursor: string | undefined; ; ) {
    const { peels, next } = await list({ limit: 1_000, ...(cursor === undefined ? {} : { cursor }) });
    found.push(...peels.map(({ peel_id }) => peel_id));
    pages++;
    if (next === undefined) break;
    cursor = next;
  }
  expect(found).toEqual(members);
  expect(pages).toBe(10);
  const small = await list({ limit: 1_000, target: "G@os:Debian" }, { answerBytes: 2_000 });
  expect(small.peels.length).toBeGreaterThan(1);
  expect(Buffer.byteLength(JSON.stringify(small.peels))).toBeLessThan(2_100);
  expect(small.next).toBe(small.peels.at(-1)?.peel_id);
  // One peel is always answered: otherwise the list would never end.
  expect((await list({}, { answerBytes: 1 })).peels).toHaveLength(1);
});
