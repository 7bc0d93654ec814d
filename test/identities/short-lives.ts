import { join } from "node:path";
import { sleep, systemClock } from "../../internal/base/clock.ts";
import { encodePeelId } from "../../internal/base/names/peel-id.ts";
import { startBus, type TestBus } from "../harness/bus.ts";
import { freshAddress } from "../harness/client.ts";
import { type Daemon, type MasterDaemon, startMasterBinary, startPeelBinary, svc } from "../harness/fleet.ts";
import { freePorts } from "../harness/free-ports.ts";
import { dispatch, expectAnswer, linesOf, requestMaster, type ShownJob, showOnce } from "../harness/jobs.ts";
import { type Relay, startRelay } from "../harness/relay.ts";

// A fleet of compiled binaries whose credentials last one minute, the shortest time that masters accept, while
// its bus and its masters are killed. Peels are not killed: each job of theirs must have its true outcome.

/** What is killed, when, and for how long. */
export interface Fault {
  readonly atMs: number;
  readonly victim: "bus" | "first master" | "second master";
  readonly downMs: number;
}

export interface ShortLives {
  readonly peels: number;
  readonly lengthMs: number;
  readonly faults: readonly Fault[];
}

/** What became of a fleet. */
export interface Verdict {
  /** Broken promises, one sentence each. */
  readonly wrong: readonly string[];
  readonly jobs: number;
  readonly outcomes: Readonly<Record<string, number>>;
  /** Of all peels. */
  readonly renewals: number;
  readonly recoveries: number;
}

/** The fields of a record that count here. */
interface ShownRecord {
  peel_id: string;
  state: string;
  bus_keys?: { expires_at: string }[];
  renewals?: number;
  recoveries?: number;
  CloneSuspected?: boolean;
}

const jobEveryMs = 700;
const jobTimeout = "45s";
/** So many keys a record lists at most. */
const maxKeys = 4;
/** Finds the directory of the peel that runs this. */
const locate = "dir=$(readlink /proc/$PPID/cwd); case $dir in */peel-*) ;; *) exit 9 ;; esac";

/** A fleet that runs. */
interface Site {
  readonly bus: TestBus;
  readonly masters: MasterDaemon[];
  readonly peels: { id: string; daemon: Daemon }[];
}

/** Runs such a fleet for a while. */
export async function runShortLives({ peels: count, lengthMs, faults }: ShortLives): Promise<Verdict> {
  await using bus = await startBus();
  await using stack = new AsyncDisposableStack();
  const site: Site = { bus, masters: [], peels: [] };
  stack.defer(async () => {
    const daemons = [...site.peels.map(({ daemon }) => daemon), ...site.masters];
    await Promise.all(daemons.map((daemon) => daemon[Symbol.asyncDispose]()));
  });
  const ports = await freePorts(2);
  const startMaster = (at: number) =>
    startMasterBinary(bus, ["--enroll-addr", `127.0.0.1:${ports[at]}`, "--enroll-creds-validity", "1m"]);
  for (const at of ports.keys()) site.masters.push(await startMaster(at));
  for (let number = 1; number <= count; number++) {
    site.peels.push(await enlist(site, stack, `web-${number}.example`, ports));
  }

  const beginning = systemClock.monotonic();
  const until = (atMs: number) => sleep(systemClock, Math.max(0, beginning + atMs - systemClock.monotonic()));
  const inflict = async ({ atMs, victim, downMs }: Fault) => {
    await until(atMs);
    if (victim === "bus") {
      await bus.stop("SIGKILL");
      await sleep(systemClock, downMs);
      return bus.start();
    }
    const at = victim === "first master" ? 0 : 1;
    site.masters[at]?.program.kill("SIGKILL");
    await site.masters[at]?.program.exited;
    await sleep(systemClock, downMs);
    site.masters[at] = await startMaster(at);
  };
  const faulty = Promise.all(faults.map(inflict));
  const attempts: Promise<void>[] = [];
  for (let number = 0; systemClock.monotonic() < beginning + lengthMs; number++) {
    attempts.push(attempt(site, number).catch(() => {}));
    await sleep(systemClock, jobEveryMs);
  }
  await faulty;
  await Promise.all(attempts);
  // Awaited here: the programs end after it.
  return await judge(site);
}

/** Starts a peel at an address of its own, and admits it. */
async function enlist(site: Site, stack: AsyncDisposableStack, id: string, ports: readonly number[]) {
  const from = freshAddress();
  const relays: Relay[] = [];
  for (const port of ports) relays.push(stack.use(await startRelay(port, from)));
  const urls = relays.map(({ port }) => `https://localhost:${port}`);
  const daemon = startPeelBinary(site.bus, urls[0] ?? "", id, { flags: ["--master-urls", urls.join(",")] });
  const [master] = site.masters;
  if (master === undefined) throw new Error("no master runs");
  await daemon.program.waitFor("waiting for an operator's approval");
  const pending = await expectAnswer<{ id: string }[]>(
    requestMaster(site.bus, master, "GET", "/api/v1/enrollments?state=pending"),
  );
  await expectAnswer(
    requestMaster(site.bus, master, "POST", `/api/v1/enrollments/${pending[0]?.id}/approve`, {}),
  );
  await daemon.program.waitFor("peel connected");
  return { id, daemon };
}

/** Asks one master, which may be dead, for a job on all peels. */
async function attempt({ bus, masters, peels }: Site, number: number): Promise<void> {
  const master = masters[number % masters.length];
  if (master === undefined) return;
  const token = `t${number}`;
  await dispatch(bus, master, {
    targets: peels.map(({ id }) => id),
    function: "cmd.run",
    args: { command: `${locate}; echo ${token} >> "$dir/effects"` },
    timeout: jobTimeout,
    metadata: { token },
  });
}

async function judge({ bus, masters, peels }: Site): Promise<Verdict> {
  const [master] = masters;
  if (master === undefined) throw new Error("no master runs");
  const ended = (jid: string) => showOnce(bus, master, jid, /^event: end$/m);
  const jids = await allJobs(bus, master);
  const jobs: ShownJob[] = [];
  for (const jid of jids) jobs.push(await ended(jid));
  const last = { targets: peels.map(({ id }) => id), function: "test.ping", timeout: "30s" };
  const pinged = await ended(await dispatch(bus, master, last));
  const list = requestMaster(bus, master, "GET", "/api/v1/enrollments?state=all&limit=100");
  const records: ShownRecord[] = [];
  for (const { id } of await expectAnswer<{ id: string }[]>(list)) {
    records.push(JSON.parse((await svc(bus, "enroll", "show", id, "--output", "json")).stdout));
  }
  const effects = new Map(
    peels.map(({ id, daemon }) => [encodePeelId(id), linesOf(join(daemon.dir, "effects"))]),
  );

  const listed = records.map(({ peel_id }) => peel_id).sort();
  if (!Bun.deepEquals(listed, [...effects.keys()].sort())) throw new Error(`enrolled: ${listed.join(", ")}`);
  const wrong = [...effects.keys()].flatMap((peel) => {
    const outcome = pinged.outcomes[peel] ?? "no outcome";
    return outcome === "ok" ? [] : [`${peel} does not answer at the end: ${outcome}`];
  });
  wrong.push(...records.flatMap((record) => problemsOf(record, systemClock.now())));
  const outcomes: Record<string, number> = {};
  for (const { jid, metadata, targets, outcomes: reached } of jobs) {
    for (const peel of targets) {
      const outcome = reached[peel] ?? "no outcome";
      const lines = effects.get(peel)?.filter((line) => line === metadata.token).length ?? 0;
      outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
      if (!isTrue(outcome, lines)) wrong.push(`${jid} on ${peel}: ${outcome}, but it left ${lines} lines`);
    }
  }
  const sum = (field: "renewals" | "recoveries") =>
    records.reduce((total, record) => total + (record[field] ?? 0), 0);
  return { wrong, jobs: jobs.length, outcomes, renewals: sum("renewals"), recoveries: sum("recoveries") };
}

/** Whether an outcome is what happened on a peel that was never killed. */
function isTrue(outcome: string, lines: number): boolean {
  switch (outcome) {
    case "ok":
      return lines === 1;
    // No master could ask this peel in time.
    case "offline":
      return lines === 0;
    // Its answer came after the deadline.
    case "timeout":
      return lines <= 1;
    default:
      return false;
  }
}

function problemsOf({ peel_id, state, bus_keys, CloneSuspected }: ShownRecord, now: number): string[] {
  const keys = bus_keys ?? [];
  const isValid = Date.parse(keys.at(-1)?.expires_at ?? "") > now;
  return [
    ...(state === "active" ? [] : [`${peel_id} is ${state}`]),
    ...(CloneSuspected === true ? [`${peel_id} is taken for a clone`] : []),
    ...(keys.length <= maxKeys ? [] : [`${peel_id} has ${keys.length} keys`]),
    ...(isValid ? [] : [`the credentials of ${peel_id} have ended`]),
  ];
}

/** IDs of every job. */
async function allJobs(bus: TestBus, master: MasterDaemon): Promise<string[]> {
  const jids: string[] = [];
  for (let path: string | undefined = "/api/v1/jobs?limit=100"; path !== undefined; ) {
    const page = requestMaster(bus, master, "GET", path);
    jids.push(...(await expectAnswer<{ jid: string }[]>(page)).map(({ jid }) => jid));
    path = /<([^>]+)>; *rel="next"/.exec(String((await page).headers.link))?.[1];
  }
  return jids;
}
