import { cpus, release, totalmem } from "node:os";
import { systemClock } from "../../../internal/base/clock.ts";
import { decode, encode } from "../../../internal/base/msgpack.ts";
import { openBucket } from "../../../internal/bus/storage/bucket.ts";
import { jobDoors } from "../../../internal/fleet/jobs/doors.ts";
import { decodeJob } from "../../../internal/fleet/jobs/records/record.ts";
import { rolloutDoors } from "../../../internal/fleet/rollout/doors.ts";
import { isLive } from "../../../internal/fleet/rollout/record.ts";
import { startFleet } from "../../fleet/fleet.ts";
import { connectTo, startBus } from "../../harness/bus.ts";
import { freshAddress, send } from "../../harness/client.ts";
import { startMasterBinary } from "../../harness/fleet.ts";
import { followRollouts } from "../../harness/rollout-fleet.ts";
import { cpuSecondsOf, memoryOf } from "../../harness/usage.ts";
import { readFlags } from "../flags.ts";
import { median } from "../jobs/statistics.ts";
import { mebibytes, milliseconds, ratio, table } from "../table.ts";

// What a rollout costs beside the same jobs by hand, one after the other, in turns within one run; and how
// long a rollout stands still when its driver is killed, with the limits as they are. See docs/bench.md.

const flags = readFlags({
  peels: ["1000", "10"],
  waves: ["5", "2"],
  rounds: ["7", "1"],
  // Giving up a killed master takes about a minute.
  takeovers: ["1", "0"],
});
const [size, waves, rounds] = [flags.count("peels"), flags.count("waves"), flags.count("rounds")];
const takeovers = flags.count("takeovers", 0);
const clock = systemClock;
const call = { function: "test.ping", args: {}, timeout: "60s" };
const perWave = Math.ceil(size / waves);

await using bus = await startBus();
let master = await startMasterBinary(bus);
await using fleet = await startFleet(bus, { size, processes: 2, ramp: 250 });
await fleet.greeted();
const operator = await connectTo(bus, "master");
const rollouts = await followRollouts(operator, 180_000);
const settled = await followSettled();

async function query(subject: string, body: Record<string, unknown>): Promise<Record<string, unknown>> {
  const request = encode({ operator: "bench", ...call, ...body });
  const reply = decode((await operator.nats.request(subject, request, { timeout: 30_000 })).data);
  const answer = reply as Record<string, unknown>;
  if (answer.ok !== true) throw new Error(`refused: ${JSON.stringify(answer)}`);
  return answer;
}

const wavesOf = { canary: 0, waves: perWave };
const lines = {
  "svc rollout": async () => {
    const { id } = await query(rolloutDoors.startRollout.bus.subject, { target: "sim-*", ...wavesOf });
    const rollout = await rollouts.until((one) => one.id === id && !isLive(one));
    if (rollout.status !== "completed") throw new Error(`the rollout ${rollout.status}: ${rollout.reason}`);
  },
  "floor: the same jobs, one after the other": async () => {
    for (let at = 0; at < size; at += perWave) {
      const { jid } = await query(jobDoors.createJob.bus.subject, {
        targets: fleet.peels.slice(at, at + perWave),
      });
      await settled.until(String(jid));
    }
  },
};

interface Sample {
  ms: number;
  cpuMs: number;
}
const samples = new Map<string, Sample[]>(Object.keys(lines).map((name) => [name, []]));
const memories = [memoryOf(master.program.pid)];
for (let round = -2; round < rounds; round++) {
  for (const [name, run] of Object.entries(lines)) {
    const [begun, used] = [clock.monotonic(), cpuSecondsOf(master.program.pid)];
    await run();
    const ms = clock.monotonic() - begun;
    // Warm up: compiling on first use is not measured.
    if (round >= 0) {
      samples.get(name)?.push({ ms, cpuMs: (cpuSecondsOf(master.program.pid) - used) * 1000 });
    }
  }
}
memories.push(memoryOf(master.program.pid));

const silent: string[][] = [];
for (let count = 1; count <= takeovers; count++) {
  const other = await startMasterBinary(bus);
  const reply = await send(master.url, bus.caPem, {
    method: "POST",
    path: "/api/v1/rollouts",
    headers: { authorization: `Bearer ${master.token}`, "content-type": "application/json" },
    body: JSON.stringify({ target: "sim-*", ...call, ...wavesOf }),
    from: freshAddress(),
  });
  const { id } = reply.json as { id: string };
  await rollouts.until((one) => one.id === id && one.step === "waiting" && one.waves.length > 1);
  master.program.kill("SIGKILL");
  const killed = clock.monotonic();
  const seconds = () => ((clock.monotonic() - killed) / 1000).toFixed(1);
  await rollouts.until((one) => one.id === id && one.token > 1);
  const taken = seconds();
  const rollout = await rollouts.until((one) => one.id === id && !isLive(one));
  silent.push([`${count}`, taken, seconds(), rollout.status, `${rollout.failures}`]);
  master = other;
}
await master[Symbol.asyncDispose]();
rollouts.stop();
settled.stop();
await operator.nats.close();

const of = (name: string, pick: (sample: Sample) => number) => (samples.get(name) ?? []).map(pick);
const floor = median(of("floor: the same jobs, one after the other", ({ ms }) => ms));
const rows = [...samples.keys()].map((name) => {
  const all = of(name, ({ ms }) => ms);
  return [
    name,
    milliseconds(median(all)),
    `${Math.min(...all).toFixed(0)}-${Math.max(...all).toFixed(0)}`,
    ratio(median(all) / floor),
    milliseconds(median(of(name, ({ cpuMs }) => cpuMs))),
  ];
});
const cpu = cpus();
process.stdout.write(`
test.ping on ${size} simulated peels in ${waves} waves, ${rounds} rounds in turns; medians
${cpu.length} x ${cpu[0]?.model ?? "?"}, ${Math.round(totalmem() / 1024 ** 3)} GiB, Linux ${release()}, Bun ${Bun.version}

${table(["", "ms", "spread", "of floor", "master cpu ms"], rows)}

Memory of the master, resident and private MiB: ${memories
  .map(({ residentMib, privateMib }) => `${mebibytes(residentMib)} and ${mebibytes(privateMib)}`)
  .join(" before, ")} after the last round

The driver is killed in the second wave; seconds until another has taken the rollout, and until its end:

${table(["", "taken over", "ended", "status", "failures"], silent)}
`);

/** Follows the ends of jobs as they are stored. */
async function followSettled(): Promise<{ until(jid: string): Promise<void>; stop(): void }> {
  const ended = new Set<string>();
  const waiting = new Map<string, () => void>();
  const jobs = await openBucket(operator, "jobs");
  const watch = jobs.watch(({ key, value }) => {
    if (value === undefined || decodeJob(value).settled === undefined) return;
    ended.add(key);
    waiting.get(key)?.();
  });
  await watch.ready;
  return {
    until: (jid) =>
      new Promise((resolve) => {
        waiting.set(jid, resolve);
        if (ended.has(jid)) resolve();
      }),
    stop: () => watch.stop(),
  };
}
