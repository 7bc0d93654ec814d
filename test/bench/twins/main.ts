import { heapStats } from "bun:jsc";
import { cpus, release, totalmem } from "node:os";
import { systemClock } from "../../../internal/base/clock.ts";
import { defined } from "../../../internal/base/defined.ts";
import { systemRandom } from "../../../internal/base/id.ts";
import type { Log } from "../../../internal/base/log.ts";
import { followTwins } from "../../../internal/fleet/twins/mod.ts";
import { followBeats } from "../../../internal/master/daemon/follow-beats.ts";
import { encodeHeartbeat } from "../../../internal/wire/heartbeat.ts";
import { createInstance } from "../../../internal/wire/instance.ts";
import { memoryBucket } from "../../../test/harness/bucket.ts";
import { readFlags } from "../flags.ts";
import { median } from "../jobs/statistics.ts";
import { table } from "../table.ts";

// What a master pays for each heartbeat to find two hosts with one identity, beside the reading of a heartbeat that
// names no process. See docs/bench.md.

const flags = readFlags({ peels: ["10000", "20"], beats: ["20", "2"], rounds: ["5", "1"] });
const peels = Array.from({ length: flags.count("peels") }, (_, at) => `web-${at}_example_com`);
const beats = flags.count("beats");
const rounds = flags.count("rounds");
const log: Log = { info() {}, warn() {}, debug() {}, error() {}, with: () => log };
const start = Date.parse("2026-01-01T00:00:00Z");
const everyMs = 10_000;

type OnBeat = Parameters<Parameters<typeof followBeats>[0]["onBeat"]>[0];

/** The heartbeats of a fleet, each peel one after the other. @param restarts how often each peel began anew before */
function heartbeats(names: boolean, restarts = 0): { peel: string; value: Uint8Array; at: number }[] {
  const made: { peel: string; value: Uint8Array; at: number }[] = [];
  let processes = peels.map(() => createInstance(systemRandom, start));
  for (let beat = -restarts; beat < beats; beat++) {
    if (beat <= 0) processes = peels.map(() => createInstance(systemRandom, start));
    for (const [at, peel] of peels.entries()) {
      const said = { peel_id: peel, version: "1.0.0", started_at: "2026-01-01T00:00:00.000Z" };
      const sent = new Date(start + (beat + restarts) * everyMs).toISOString();
      const instance = names ? processes[at]?.() : undefined;
      const value = encodeHeartbeat({ ...said, sent_at: sent, ...defined({ instance }) });
      made.push({ peel, value, at: start + (beat + restarts) * everyMs });
    }
  }
  return made;
}

/** What a master does with each heartbeat, with or without the judgement. */
async function master(judges: boolean) {
  let report: OnBeat = () => {};
  const following = followBeats({
    onBeat(run) {
      report = run;
      return () => {};
    },
  });
  const bucket = memoryBucket();
  const twins = followTwins({
    bucket,
    directory: { memberOf: (peel) => ({ id: peel }) as never },
    suspect(id) {
      throw new Error(`${id} is no twin`);
    },
    ...{ clock: systemClock, jitter: () => 1, log },
  });
  await twins.ready;
  if (judges) following.onInstance(twins.received);
  return {
    take: ({ peel, value, at }: { peel: string; value: Uint8Array; at: number }) =>
      report(peel, 1, value, at),
    stop: () => twins.stop(),
  };
}

const cpuMs = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
};
const heap = () => {
  for (let pass = 0; pass < 3; pass++) Bun.gc(true);
  return heapStats().heapSize;
};

const kinds: [what: string, names: boolean, judges: boolean, restarts: number][] = [
  ["read, names no process", false, false, 0],
  ["read", true, false, 0],
  ["read and judged", true, true, 0],
  ["read and judged, after three restarts", true, true, 3],
];
const rows: string[][] = [];
for (const [what, names, judges, restarts] of kinds) {
  const sent = heartbeats(names, restarts);
  const before = sent.splice(0, restarts * peels.length);
  const half = new Set(peels.slice(peels.length / 2));
  const [some, others] = [
    sent.filter(({ peel }) => !half.has(peel)),
    sent.filter(({ peel }) => half.has(peel)),
  ];
  const times: number[] = [];
  const kept: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const { take, stop } = await master(judges);
    const timed = (list: typeof sent) => {
      const begun = cpuMs();
      for (const beat of list) take(beat);
      return cpuMs() - begun;
    };
    for (const beat of before) if (!half.has(beat.peel)) take(beat);
    const first = timed(some);
    // What a round before left is collected by now.
    const held = heap();
    for (const beat of before) if (half.has(beat.peel)) take(beat);
    const second = timed(others);
    kept.push(Math.max(0, (heap() - held) / half.size));
    times.push(((first + second) * 1_000) / sent.length);
    await stop();
  }
  rows.push([what, median(times).toFixed(2), `${sent[0]?.value.length ?? 0}`, median(kept).toFixed(0)]);
}
process.stdout.write(`
One heartbeat at a master: ${peels.length} peels, ${beats} each
${cpus().length} x ${cpus()[0]?.model ?? "?"}, ${Math.round(totalmem() / 1024 ** 3)} GiB, Linux ${release()}, Bun ${Bun.version}
medians of ${rounds} rounds, processor time; bytes that a master keeps for each peel

${table(["heartbeat", "µs", "bytes of it", "bytes kept"], rows)}
`);
process.exit(0);
