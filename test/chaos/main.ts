import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { systemClock } from "../../internal/base/clock.ts";
import { systemRandom } from "../../internal/base/id.ts";
import { natsServerPath } from "../harness/bus.ts";
import { seeded } from "../harness/seeded.ts";
import { temporaryDirectory } from "../harness/temporary.ts";
import { checkAll } from "./check/check.ts";
import { enclose, whyNot } from "./enclosure.ts";
import { inflict } from "./faults.ts";
import { readFinalState } from "./final-state.ts";
import { callsOf, type Entry, type FinalState, isAcknowledged } from "./history.ts";
import { possibleFaults } from "./possible.ts";
import { createRecorder } from "./recorder.ts";
import { type Recovery, recover } from "./recover.ts";
import { noteReplicas } from "./replicas.ts";
import { formatReport, markdownOf, reportOf } from "./report.ts";
import { drawFaults } from "./schedule.ts";
import { sightRevoked } from "./sight.ts";
import { startSite } from "./site.ts";
import { startWorkload } from "./workload.ts";

// make chaos: a fleet in namespaces of its own, with faults drawn from a seed, a workload, and a check of what
// must hold anyway. It runs itself again inside the enclosure, as "main.ts --inside DIRECTORY SEED".

const clock = systemClock;
const { MINUTES = "14", SEED, HISTORY, NATS_SERVER } = process.env;
const maxMinutes = 14;
/** For the start, and for reading the end; with the most minutes of faults that makes 20. */
const aroundMinutes = 6;
const results = join(import.meta.dir, "../../dist/chaos");
const say = (text: string) => process.stdout.write(`${text}\n`);

process.exitCode = await main(process.argv.slice(2));

async function main([mode, dir = "", seed = ""]: string[]): Promise<number> {
  if (mode === "--inside") return run(dir, Number(seed));
  if (HISTORY !== undefined) {
    return report(JSON.parse(readFileSync(HISTORY, "utf8")) as Kept, dirname(HISTORY));
  }
  const problem = whyNot();
  if (problem !== undefined) {
    process.stderr.write(`chaos: ${problem}\n`);
    return 2;
  }
  const chosen = SEED === undefined ? Buffer.from(systemRandom(4)).readUInt32LE() : Number(SEED);
  const minutes = Number(MINUTES);
  if (!Number.isSafeInteger(chosen) || !(minutes > 0 && minutes <= maxMinutes)) {
    process.stderr.write(`chaos: SEED is a whole number, MINUTES at most ${maxMinutes}\n`);
    return 2;
  }
  using files = temporaryDirectory("chaos");
  const limitMs = (minutes + aroundMinutes) * 60_000;
  // Awaited here, so that the directory is removed after the run.
  return await enclose(import.meta.path, ["--inside", files.path, `${chosen}`], limitMs, clock);
}

/** What is kept of a run. */
interface Kept {
  readonly seed: number;
  readonly server: string;
  /** When it began; files of earlier versions have no such field. */
  readonly date?: string;
  readonly history: readonly Entry[];
  readonly final: FinalState;
}

async function run(dir: string, seed: number): Promise<number> {
  const natsServer = NATS_SERVER ?? natsServerPath();
  const server = Bun.spawnSync([natsServer, "--version"]).stdout.toString().trim();
  const date = new Date(clock.now()).toISOString();
  const { kinds, missing } = possibleFaults(dir);
  say(`seed ${seed}, ${MINUTES} minutes, ${server}; again with: SEED=${seed} MINUTES=${MINUTES} make chaos`);
  for (const line of missing) say(`left out: ${line}`);
  const recorder = createRecorder(clock);
  const site = await startSite(dir, { natsServer, masters: 2, peels: 20, recorder });
  say(`${(recorder.now() / 1000).toFixed(1)} s  the fleet is up`);
  const workload = startWorkload(site, seeded(seed + 1));
  const until = clock.monotonic() + Number(MINUTES) * 60_000;
  const seen: Record<string, number> = {};
  const differing: Record<string, number> = {};
  for (const fault of drawFaults(seed, kinds)) {
    if (clock.monotonic() >= until) break;
    const at = recorder.now();
    const victim = await inflict(site, fault);
    const ended = recorder.now();
    const recovery = await recover(site);
    await sightRevoked(site, workload.guests, at, seen);
    await noteReplicas(site.servers.list, at, differing);
    const { kind } = fault;
    const span = { kind: "fault", at, ended, fault: kind, victim: victim.replace(`${dir}/`, "") } as const;
    recorder.add({ ...span, ...recovery });
    say(`${(at / 1000).toFixed(1)} s  ${kind} ${span.victim} for ${ended - at} ms: ${phrase(recovery)}`);
  }
  await workload.stop();
  const final = await readFinalState(site, workload.guests, seen, differing);
  for (const server of site.servers.list) await server.end("SIGTERM");
  const kept = { seed, server, date, history: recorder.history, final };
  return report(kept, save(kept, site));
}

function phrase({ readyMs, firstJobMs, recoveredMs }: Recovery): string {
  const after = (ms?: number) => (ms === undefined ? "not in time" : `after ${ms} ms`);
  return `ready ${after(readyMs)}, first job ${after(firstJobMs)}, of all masters ${after(recoveredMs)}`;
}

/** Writes the history, for HISTORY=, and the logs. @returns their directory */
function save(kept: Kept, { servers, masters, peels }: Awaited<ReturnType<typeof startSite>>): string {
  const base = join(results, `${kept.seed}`);
  mkdirSync(base, { recursive: true, mode: 0o700 });
  for (const unit of [...servers.list, ...masters, ...peels]) {
    writeFileSync(join(base, `${unit.host.name}.log`), unit.output());
  }
  writeFileSync(join(base, "history.json"), JSON.stringify(kept));
  say(`the history is in dist/chaos/${basename(base)}/history.json, the logs of all programs next to it`);
  return base;
}

/** Prints what held and what did not, and writes the table as text and for a page of the documentation. */
function report({ seed, server, date = "", history, final }: Kept, dir: string): number {
  const violations = checkAll(history, final);
  const counted = Map.groupBy(callsOf(history), ({ operation }) => operation);
  const requested = [...counted].map(([operation, calls]) => {
    return `${operation} ${calls.filter(isAcknowledged).length}/${calls.length}`;
  });
  const found = reportOf(history, violations);
  const answered = `answered/asked: ${requested.join(", ")}`;
  const about = `${server}, seed ${seed}, ${date.slice(0, 10)}`;
  say(`\n${answered}\n\n${formatReport(found)}\n`);
  writeFileSync(join(dir, "report.txt"), `${about}\n${answered}\n\n${formatReport(found)}\n`);
  writeFileSync(join(dir, "report.md"), `${about}:\n\n${markdownOf(found)}\n`);
  for (const { invariant, at, text } of violations)
    say(`BROKEN at ${(at / 1000).toFixed(1)} s, ${invariant}: ${text}`);
  say(violations.length === 0 ? "every promise held" : `${violations.length} violations`);
  return violations.length === 0 ? 0 : 1;
}
