import { expect, test } from "bun:test";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { sleep, systemClock } from "../../internal/base/clock.ts";
import { systemRandom } from "../../internal/base/id.ts";
import { createSlots } from "../../internal/base/slots.ts";
import type { Bus } from "../../internal/bus/connection/connect.ts";
import { dispatchSubject } from "../../internal/bus/subjects/subjects.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import { type Daemon, type MasterDaemon, startMasterBinary, startPeelBinary } from "../harness/fleet.ts";
import {
  dispatch,
  expectAnswer,
  linesOf,
  requestMaster,
  type ShownJob,
  show,
  showOnce,
  startMember,
} from "../harness/jobs.ts";
import { seeded } from "../harness/seeded.ts";
import { until } from "../harness/until.ts";

// The guarantees of jobs while all processes are killed: no side effect happens twice, and every target has
// one outcome, which is correct. CHAOS_SEED repeats the choices of a run, but not its timing.

const jobCount = 200;
const everyMs = 120;
const limitMs = 180_000;
const ids = ["web-0", "web-1", "web-2", "web-3"];
const seed = Number(process.env.CHAOS_SEED ?? Buffer.from(systemRandom(4)).readUInt32LE());
const random = seeded(seed);
const upTo = (max: number) => Math.floor(random() * max);
const oneOf = <T>(list: readonly [T, ...T[]]): T => list[upTo(list.length)] ?? list[0];

/** Finds the directory of the peel that runs this; ends when that peel is gone already. */
const locate = "dir=$(readlink /proc/$PPID/cwd); case $dir in */peel-*) ;; *) exit 9 ;; esac";
/** What the commands of jobs do; each leaves one line when it does. */
const kinds = {
  quick: (line: string) => line,
  slow: (line: string) => `sleep 0.3; ${line}`,
  failing: (line: string) => `${line}; exit 3`,
  endless: (line: string) => `sleep 20; ${line}`,
  cancelled: (line: string) => `sleep 0.2; ${line}`,
};
type Kind = keyof typeof kinds;
const mixture: [Kind, ...Kind[]] = [
  ...(["quick", "quick", "quick", "quick"] as const),
  ...(["slow", "failing", "endless", "cancelled"] as const),
];

/** Something that is killed and started again. */
interface Victim {
  name: string;
  up: boolean;
  kill(): Promise<void>;
  start(): Promise<void>;
}

interface Site {
  bus: TestBus;
  /** The current process of each name. */
  masters: MasterDaemon[];
  peels: Daemon[];
}

test(
  `${jobCount} jobs while masters, peels and the bus are killed (CHAOS_SEED=${seed})`,
  async () => {
    await using bus = await startBus();
    await using stack = new AsyncDisposableStack();
    const site: Site = { bus, masters: [], peels: [] };
    const { masters, peels } = site;
    stack.defer(async () => {
      for (const daemon of [...peels, ...masters]) await daemon[Symbol.asyncDispose]();
    });
    for (let at = 0; at < 2; at++) masters.push(await startMasterBinary(bus));
    for (const [at, id] of ids.entries()) peels.push(await startMember(bus, pick(masters, at % 2), id));

    const echo = await startEcho(bus);
    stack.defer(() => echo.nats.close());
    const kills: string[] = [];
    const masterVictims = masters.map((_, at) =>
      daemonVictim(`master-${at}`, masters, at, () => startMasterBinary(bus)),
    );
    const peelVictims = ids.map((id, at) => {
      const dir = pick(peels, at).dir;
      return daemonVictim(id, peels, at, async () => startPeelBinary(bus, pick(masters, 0).url, id, { dir }));
    });
    const busVictim = {
      name: "bus",
      up: true,
      kill: () => bus.stop("SIGKILL"),
      async start() {
        await bus.start();
        // All processes need seconds to reconnect. A bus that is always down would prove little.
        await sleep(systemClock, 5_000);
      },
    };
    const dispatching = new AbortController();
    const destroying = destroy(
      [peelVictims, peelVictims, masterVictims, [busVictim]],
      kills,
      dispatching.signal,
    );
    // What cannot be started again ends the test, in order.
    destroying.catch(() => dispatching.abort());
    const living = () => masters.filter((_, at) => masterVictims[at]?.up === true);
    const attempts: Promise<void>[] = [];
    let made = 0;
    for (let number = 0; made < jobCount && !dispatching.signal.aborted; number++) {
      // Whether a request that failed made a job is found out below: its token is in the record if it did.
      const dispatched = () => made++;
      attempts.push(attempt(site, living, number, dispatched).catch(() => {}));
      await sleep(systemClock, everyMs);
    }
    dispatching.abort();
    await destroying;
    await Promise.all(attempts);

    for (const { program } of masters) await program.waitFor(connectedAgain);
    const jids = await allJobs(bus, pick(masters, 0));
    // An operator follows 16 streams at a time. More at once, and handshakes of a busy machine run out of their time.
    const streams = createSlots({ atOnce: 16 });
    const ended = (jid: string) => showOnce(bus, pick(masters, 0), jid, /^event: end$/m);
    await Promise.all(jids.map((jid) => streams.run(() => ended(jid))));
    await Promise.all(peels.map(({ dir }) => emptied(join(dir, "outbox"))));

    const { wrong, outcomes } = await judge(site, jids);
    const summary = `${jids.length} jobs, ${JSON.stringify(outcomes)}, killed: ${kills.join(" ")}`;
    expect({ wrong, summary }).toEqual({ wrong: [], summary });
    // A run without any events proves nothing.
    expect(jids.length).toBeGreaterThanOrEqual(jobCount);
    expect(outcomes.ok ?? 0).toBeGreaterThan(jobCount / 2);
    expect(kills.length).toBeGreaterThan(10);
  },
  limitMs,
);

/** Repeats every dispatch later, twice: the bus may redeliver at any time. */
async function startEcho(bus: TestBus): Promise<Bus> {
  const connection = await connectTo(bus, "master");
  const seen = new Set<string>();
  connection.nats.subscribe(dispatchSubject("*", "*"), {
    callback(error, { subject, data }) {
      if (error !== null || seen.has(subject)) return;
      seen.add(subject);
      for (const withinMs of [300, 6_000]) {
        systemClock.after(upTo(withinMs), () => {
          if (connection.connected) connection.publish(subject, data);
        });
      }
    },
  });
  await connection.nats.flush();
  return connection;
}

/** Kills and restarts random processes until the signal. At the end all of them run. */
async function destroy(groups: Victim[][], kills: string[], signal: AbortSignal): Promise<void> {
  const returning: Promise<void>[] = [];
  while (!signal.aborted) {
    await sleep(systemClock, 300 + upTo(1_200));
    const group = groups[upTo(groups.length)] ?? [];
    const [victim, ...others] = group.filter(({ up }) => up).sort(() => random() - 0.5);
    // One of the masters stays, to take jobs.
    if (victim === undefined || (victim.name.startsWith("master") && others.length === 0)) continue;
    victim.up = false;
    kills.push(victim.name);
    await victim.kill();
    const again = async () => {
      await sleep(systemClock, upTo(1_500));
      await victim.start();
      victim.up = true;
    };
    const back = again();
    back.catch(() => {});
    returning.push(back);
  }
  await Promise.all(returning);
}

/** Dispatches one job to some peels, and perhaps cancels it. */
async function attempt(
  { bus }: Site,
  living: () => MasterDaemon[],
  number: number,
  dispatched: () => void,
): Promise<void> {
  const anyMaster = () => pick(living(), upTo(living().length));
  const kind = oneOf(mixture);
  const token = `t${number}-${kind}`;
  const some = ids.filter(() => random() < 0.5);
  const cancelAfterMs = upTo(600);
  const jid = await dispatch(bus, anyMaster(), {
    targets: some.length === 0 ? ids : some,
    function: "cmd.run",
    args: { command: `${locate}; ${kinds[kind](`echo ${token} >> "$dir/effects"`)}` },
    timeout: kind === "endless" ? "1s" : `${3 + upTo(15)}s`,
    metadata: { token, kind },
  });
  dispatched();
  if (kind !== "cancelled") return;
  await sleep(systemClock, cancelAfterMs);
  await requestMaster(bus, anyMaster(), "POST", `/api/v1/jobs/${jid}/cancel`, {});
}

/** Compares the reported outcome of each job with the lines that it wrote. */
async function judge({ bus, masters, peels }: Site, jids: readonly string[]) {
  const wrong: string[] = [];
  const outcomes: Record<string, number> = {};
  const effects = new Map(ids.map((id, at) => [id, linesOf(join(pick(peels, at).dir, "effects"))]));
  const explained = new Set<string>();
  for (const jid of jids) {
    const job = await show(bus, pick(masters, 0), jid);
    const { token } = job.metadata;
    const other = await show(bus, pick(masters, 1), jid);
    if (!Bun.deepEquals(job, other)) wrong.push(`${token}: the masters disagree`);
    const sum = Object.values(job.counts).reduce((total, count) => total + count, 0);
    if (sum !== job.targets.length || Object.keys(job.outcomes).length !== sum) {
      wrong.push(`${token}: the counts do not add up: ${JSON.stringify(job.counts)}`);
    }
    for (const peel of job.targets) {
      explained.add(`${token} ${peel}`);
      const problem = problemOf(job, peel, effects.get(peel)?.filter((line) => line === token).length ?? 0);
      const outcome = job.outcomes[peel] ?? "none";
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
      if (problem === undefined) continue;
      wrong.push(`${token} ${jid} on ${peel}: ${outcome}, ${problem}: ${JSON.stringify(job.returns[peel])}`);
    }
  }
  for (const [peel, lines] of effects) {
    for (const line of lines) if (!explained.has(`${line} ${peel}`)) wrong.push(`${line} on ${peel}: no job`);
  }
  return { wrong, outcomes };
}

/** What is wrong with an outcome, given how many lines its command left. */
function problemOf(job: ShownJob, peel: string, lines: number): string | undefined {
  const returned = job.returns[peel];
  const failing = job.metadata.kind === "failing";
  if (lines > 1) return `it ran ${lines} times`;
  const neverBegan = returned === undefined || /never began|before it began/.test(returned.error ?? "");
  if (neverBegan && lines > 0) return "it ran, though nobody says so";
  switch (job.outcomes[peel]) {
    case "ok":
      return lines === 1 && !failing ? undefined : "it did not do what it says";
    case "failed":
      return lines === 1 && failing && returned?.retcode === 3 ? undefined : "it failed for another reason";
    case "offline":
    case "busy":
      return lines === 0 ? undefined : "it ran";
    // It may have got as far as its line.
    case "timeout":
    case "lost":
    case "cancelled":
      return undefined;
    default:
      return "it has no outcome";
  }
}

/** The log of a master whose connection was not lost, or came back since. */
const connectedAgain =
  /^(?![\s\S]*"bus disconnected","connection":"svc-master"(?![\s\S]*"bus reconnected","connection":"svc-master"))/;

function daemonVictim<T extends Daemon>(name: string, list: T[], at: number, start: () => Promise<T>) {
  const victim: Victim = {
    name,
    up: true,
    async kill() {
      list[at]?.program.kill("SIGKILL");
      await list[at]?.program.exited;
    },
    async start() {
      list[at] = await start();
    },
  };
  return victim;
}

function pick<T>(list: readonly T[], at: number): T {
  const found = list[at];
  if (found === undefined) throw new Error(`nothing is left at ${at}`);
  return found;
}

/** Ids of every job. */
async function allJobs(bus: TestBus, master: MasterDaemon): Promise<string[]> {
  const jids: string[] = [];
  for (let path: string | undefined = "/api/v1/jobs?limit=100"; path !== undefined; ) {
    const page = requestMaster(bus, master, "GET", path);
    jids.push(...(await expectAnswer<{ jid: string }[]>(page)).map(({ jid }) => jid));
    path = /<([^>]+)>; *rel="next"/.exec(String((await page).headers.link))?.[1];
  }
  return jids;
}

/** Resolves when a directory is empty: every return has been taken. */
async function emptied(dir: string): Promise<void> {
  await until(() => !existsSync(dir) || readdirSync(dir).length === 0, Boolean, limitMs);
}
