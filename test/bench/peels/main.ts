import { cpus, hostname, release, totalmem } from "node:os";
import { rfc3339, systemClock } from "../../../internal/base/clock.ts";
import { encode, type Plain } from "../../../internal/base/msgpack.ts";
import type { Bucket } from "../../../internal/bus/storage/bucket.ts";
import type { Member } from "../../../internal/fleet/enrollment/store/mod.ts";
import { createLastJobs } from "../../../internal/fleet/jobs/last-jobs.ts";
import { type Call, invoke } from "../../../internal/fleet/operation/mod.ts";
import { countFacts } from "../../../internal/fleet/peels/count-facts-operation.ts";
import { findFacts } from "../../../internal/fleet/peels/find-facts-operation.ts";
import { listPeels, showPeel } from "../../../internal/fleet/peels/operations.ts";
import type { PeelsDeps } from "../../../internal/fleet/peels/peel.ts";
import { createFleetIndex } from "../../../internal/fleet/targeting/fleet-index.ts";
import { createPace } from "../../../internal/fleet/targeting/pace.ts";
import { createResolver } from "../../../internal/fleet/targeting/resolver.ts";
import { builtinFacts, collectFacts } from "../../../internal/host/facts/collect.ts";
import { systemHost } from "../../../internal/host/facts/host.ts";
import { memoryBucket } from "../../harness/bucket.ts";
import { recordingLog } from "../../harness/log.ts";
import { readFlags } from "../flags.ts";
import { mebibytes, milliseconds, ratio, table } from "../table.ts";

// How long a master takes to list peels and their facts, with all that it knows of a large fleet and of many jobs.
// The bus is no part of the figures. The floor is JSON.stringify of the same page, as text, in turns in the same run.

const flags = readFlags({ peels: ["10000", "50"], jobs: ["100000", "50"], rounds: ["11", "1"] });
const [peels, jobs, rounds] = [flags.count("peels"), flags.count("jobs"), flags.count("rounds")];
const clock = systemClock;
const ids = Array.from({ length: peels }, (_, at) => `web-${`${at}`.padStart(6, "0")}_example_com`);
const template = (await collectFacts(builtinFacts, systemHost(hostname(), {}), clock)).facts;
const systems = ["Debian", "Ubuntu", "Rocky", "SUSE"];

const factsOf = (at: number): Plain => ({
  ...template,
  ...{ os: systems[at % 4] ?? "", osrelease: `${10 + (at % 5)}`, svc_version: "0.1.0" },
  ...{ host: `host-${at}`, ipv4: ["127.0.0.1", `10.${(at >> 16) & 255}.${(at >> 8) & 255}.${at & 255}`] },
});

/** A bucket that makes each value when it is read, so that none of them stays. */
const bucketOf = (make: (at: number) => Uint8Array): Pick<Bucket, "watch" | "entries"> => ({
  watch(onChange) {
    for (const [at, key] of ids.entries()) {
      onChange({ key, value: make(at), revision: at + 1, storedAt: clock.now() });
    }
    return { ready: Promise.resolve(), caughtUp: async () => {}, stop: () => {} };
  },
  entries: async () => [],
});

const heap = () => {
  Bun.gc(true);
  return process.memoryUsage().heapUsed;
};
const facts = bucketOf((at) => encode(factsOf(at)));
const heartbeats = bucketOf(() => new Uint8Array());
const log = recordingLog();
const index = createFleetIndex({ members: () => ids, facts, heartbeats, clock, log });
await index.ready;

const beforeJobs = heap();
const last = createLastJobs(7 * 24 * 3_600_000);
const startedAt = clock.monotonic();
for (let at = 0; at < jobs; at++) {
  const createdAt = clock.now() - (jobs - at);
  const targets = Array.from({ length: 10 }, (_, one) => ids[(at * 7 + one * 13) % peels] ?? "");
  last.note({
    ...{ jid: `job-${at}`, function: "state.apply", args: {}, targets, metadata: {}, timeoutMs: 60_000 },
    ...{ createdAt, createdBy: "ann", deadline: createdAt + 60_000 },
    settled: {
      ...{ status: "failed", counts: { ok: 9, failed: 1 }, finishedAt: createdAt, offline: [] },
      places: { failed: [at % 10] },
    },
  });
}
const notedMs = clock.monotonic() - startedAt;
const jobsHeap = heap() - beforeJobs;

const member: Member = {
  ...{ id: `enr-${"0".repeat(27)}`, state: "active", address: "192.0.2.7", labels: { env: "prod" } },
  credsExpiresAt: clock.now(),
};
const directory = {
  caughtUp: async () => {},
  members: () => ids,
  memberOf: () => member,
  stateOf: () => "active" as const,
  labelsOf: () => member.labels,
};
const resolver = createResolver({
  // Read only while there is no index.
  ...{ directory, index, facts: memoryBucket(), heartbeats: memoryBucket(), log },
  pace: createPace(),
  groups: { current: () => new Map() },
  settings: async () => new Map(),
});
const deps: PeelsDeps = {
  ...{ directory, index, resolver },
  settings: { versionOf: () => 1_767_225_600_000 },
  jobs: { lastJobOf: (peel) => last.of(peel, clock.now()) },
  ...{ compliance: { runOf: () => undefined }, clock },
  silences: { sinceOf: () => undefined },
  addresses: { of: () => undefined },
  files: { published: () => undefined },
};
const call: Call = { caller: { kind: "operator", name: "ann", door: "rest" }, log, clock };
const fields = (given: Plain) => ({ fields: given });
const requests: [name: string, run: () => Promise<unknown>][] = [
  ["peels list, first page of 500", () => invoke(listPeels, deps, fields({}), call)],
  ["peels list, first page of 1,000", () => invoke(listPeels, deps, fields({ limit: 1_000 }), call)],
  ["peels list, G@os:Debian", () => invoke(listPeels, deps, fields({ target: "G@os:Debian" }), call)],
  ["peels show", () => invoke(showPeel, deps, fields({ id: ids.at(-1) ?? "" }), call)],
  ["facts find, 3 facts of 500", () => invoke(findFacts, deps, fields({ show: "os,osrelease,ipv4" }), call)],
  ["facts count os,osrelease, all", () => invoke(countFacts, deps, fields({ by: "os,osrelease" }), call)],
  ["facts count ipv4, all different", () => invoke(countFacts, deps, fields({ by: "ipv4" }), call)],
];

const took = new Map<string, { own: number[]; floor: number[] }>();
for (let round = 0; round < rounds; round++) {
  for (const [name, run] of requests) {
    const began = clock.monotonic();
    const answer = await run();
    const own = clock.monotonic() - began;
    const floorBegan = clock.monotonic();
    JSON.stringify(answer);
    const known = took.get(name) ?? { own: [], floor: [] };
    known.own.push(own);
    known.floor.push(clock.monotonic() - floorBegan);
    took.set(name, known);
  }
}
const median = (values: number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
process.stdout.write(
  [
    `${rfc3339(clock.now()).slice(0, 10)}, ${cpus()[0]?.model}, ${cpus().length} processors, ${mebibytes(totalmem() / 2 ** 20)} MiB, Linux ${release()}, Bun ${Bun.version}`,
    `${peels} peels, ${jobs} jobs of 10 targets, medians of ${rounds} rounds`,
    "",
    table(
      ["request", "ms", "most ms", "of the floor"],
      requests.map(([name]) => {
        const { own = [], floor = [] } = took.get(name) ?? {};
        const max = milliseconds(Math.max(...own));
        return [name, milliseconds(median(own)), max, ratio(median(own) / median(floor))];
      }),
    ),
    "",
    `last jobs: ${mebibytes(jobsHeap / 2 ** 20)} MiB of heap for ${last.size} peels, read in ${milliseconds(notedMs)} ms`,
    "",
  ].join("\n"),
);
