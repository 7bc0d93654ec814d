import { systemClock } from "../../../internal/base/clock.ts";
import { systemRandom } from "../../../internal/base/id.ts";
import { encode } from "../../../internal/base/msgpack.ts";
import type { Job } from "../../../internal/fleet/jobs/records/record.ts";
import { withJobMac } from "../../../internal/fleet/jobs/records/record-mac.ts";
import { createCommands } from "../../../internal/fleet/jobs/send.ts";
import { newKeyPair } from "../../../internal/identity/nkey.ts";
import { createRecordMac } from "../../../internal/identity/record-mac.ts";
import { openCommand } from "../../../internal/wire/command.ts";
import { recordingLog } from "../../harness/log.ts";
import { memoryOf } from "../../harness/usage.ts";
import { readFlags } from "../flags.ts";
import { median } from "../jobs/statistics.ts";
import { mebibytes, milliseconds, ratio, table } from "../table.ts";

// What the commands of one job cost a master to make and a peel to open, without a bus: signed for each peel, and
// signed once for all of them. The floor encodes the same commands and signs nothing.

// The memory that is printed is that of all lines together. `--only "signed once"` measures one of them.
const flags = readFlags({ peels: ["1000,5000", "10"], rounds: ["9", "1"], only: "" });
const only = flags.text("only");
const sizes = flags.counts("peels");
const rounds = flags.count("rounds");

const key = newKeyPair("user", systemRandom);
const mac = createRecordMac(newKeyPair("account", systemRandom));
const trust = { keys: [key.publicKey], now: 0 };
/** Commands as a master sends them; they go nowhere. */
const sender = (publish: (subject: string, data: Uint8Array) => void) =>
  createCommands({
    ...{ bus: { publish }, key, mac, log: recordingLog() },
    // As long as two records of operators are.
    recordsOf: () => [systemRandom(320), systemRandom(320)],
  });

for (const size of sizes) {
  const targets = Array.from({ length: size }, (_, at) => `web-${String(at).padStart(5, "0")}_example_com`);
  const plain: Job = withJobMac(mac, {
    ...{ jid: `job-${"0".repeat(27)}`, function: "cmd.run", args: { command: "uptime" }, targets },
    ...{ metadata: {}, timeoutMs: 60_000, createdAt: systemClock.now(), createdBy: "ann" },
    ...{ requestId: `req-${"0".repeat(27)}`, deadline: systemClock.now() + 60_000 },
  });
  const signed: Job = { ...plain, request: { subject: "svc.job.request", envelope: systemRandom(420) } };
  say(`\nThe commands of one job for ${size} peels, ${rounds} rounds in turns, medians of processor time:\n`);
  const rows: string[][] = [];
  for (const [what, job] of Object.entries({ "a job": plain, "a job that an operator signed": signed })) {
    const every: Record<string, () => Uint8Array[]> = {
      [`${what}, signed for each peel`]: () => sendEach(job),
      [`${what}, signed once`]: () => sendAll(job),
      "floor: encoded alone": () => encodeAll(job),
    };
    const lines = Object.fromEntries(Object.entries(every).filter(([name]) => name.includes(only)));
    const spent = inTurns(lines);
    const each = Object.values(spent)[0] ?? 0;
    const floor = spent["floor: encoded alone"] ?? Number.NaN;
    for (const [name, ms] of Object.entries(spent)) {
      const commands = lines[name]?.() ?? [];
      const bytes = commands.reduce((sum, command) => sum + command.length, 0) / size;
      const opened = name.startsWith("floor") ? undefined : median(repeat(() => openAll(targets, commands)));
      rows.push([
        name,
        milliseconds(ms),
        ratio(ms / each),
        ratio(ms / floor),
        bytes.toFixed(0),
        opened === undefined ? "" : `${((1000 * opened) / size).toFixed(0)}`,
      ]);
    }
  }
  say(table(["", "ms to make", "of each", "of floor", "bytes each", "us to open"], rows));
  const { residentMib, privateMib } = memoryOf(process.pid);
  say(`\nMemory after that: ${mebibytes(residentMib)} MiB resident, ${mebibytes(privateMib)} MiB private.`);
}

function sendAll(job: Job): Uint8Array[] {
  const sent: Uint8Array[] = [];
  // A copy: what is known of a job, such as its tree, is kept with it.
  sender((_, data) => sent.push(data)).send("dispatch", { ...job }, job.targets);
  return sent;
}

/** As in the answers to a hello. */
function sendEach(job: Job): Uint8Array[] {
  const { sign } = sender(() => {});
  const copy = { ...job };
  return job.targets.flatMap((peel) => sign("dispatch", copy, peel) ?? []);
}

function encodeAll(job: Job): Uint8Array[] {
  const { jid, deadline, targets, request } = job;
  const body = encode({ function: job.function, args: job.args, request: request?.envelope });
  const rest = { kind: "dispatch", jid, deadline, body, key: key.publicKey, signature: systemRandom(64) };
  return targets.map((peel) => encode({ ...rest, peel }));
}

function openAll(targets: readonly string[], commands: readonly Uint8Array[]): void {
  for (const [at, peel] of targets.entries()) {
    openCommand(commands[at] ?? new Uint8Array(), { peel }, trust);
  }
}

/** The median of the processor milliseconds of each line, after a round that does not count. */
function inTurns(lines: Record<string, () => unknown>): Record<string, number> {
  const samples: Record<string, number[]> = {};
  for (let round = -1; round < rounds; round++) {
    for (const [name, run] of Object.entries(lines)) {
      const spent = spentBy(run);
      if (round >= 0) samples[name] = [...(samples[name] ?? []), spent];
    }
  }
  return Object.fromEntries(Object.entries(samples).map(([name, spent]) => [name, median(spent)]));
}

function repeat(run: () => unknown): number[] {
  return Array.from({ length: Math.min(rounds, 3) }, () => spentBy(run));
}

/** Processor milliseconds of this process. */
function spentBy(run: () => unknown): number {
  const before = process.cpuUsage();
  run();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1000;
}

function say(text: string): void {
  process.stdout.write(`${text}\n`);
}
