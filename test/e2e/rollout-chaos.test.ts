import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import type { Bus } from "../../internal/bus/connection/connect.ts";
import { isLive, type Rollout } from "../../internal/fleet/rollout/record.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import { connectManualPeel, type ManualPeel } from "../harness/manual-peel.ts";
import { enrollPeel } from "../harness/peel-connection.ts";
import { followJobs } from "../harness/reactor.ts";
import { type CountingPeels, countExecutions, followRollouts } from "../harness/rollout-fleet.ts";
import { type RolloutMaster, startRolloutMaster } from "../harness/rollout-master.ts";
import type { Trap } from "../harness/rollout-master-main.ts";
import { until } from "../harness/until.ts";

// The driver of a rollout is killed, or is frozen until another master has taken over and then continues: in
// each step, right after the step was stored and before it is executed. Masters are separate processes. The
// peels are simulated, and record each job they run.

setDefaultTimeout(150_000);

const names = ["peel-a", "peel-b", "peel-c", "peel-d"];
/** Of the second wave; the first has peel-a, and the last peel-d. */
const ofSecond = (name: string) => [`peel-b ${name}`, `peel-c ${name}`];
const lastWave = "peel-d test.echo";

/** A bus with peels of its own, and two masters that serve. */
interface Fleet {
  bus: TestBus;
  operator: Bus;
  peels: ManualPeel[];
  work: CountingPeels;
  rollouts: Awaited<ReturnType<typeof followRollouts>>;
  jobs: Awaited<ReturnType<typeof followJobs>>;
  /** The one that is asked first is the next driver. */
  masters: RolloutMaster[];
}

async function startFleet(): Promise<Fleet> {
  const bus = await startBus();
  const masters = [await startRolloutMaster(bus), await startRolloutMaster(bus)];
  const peels: ManualPeel[] = [];
  for (const name of names) {
    peels.push(await connectManualPeel(bus, await enrollPeel(masters[0] as RolloutMaster, name)));
  }
  const operator = await connectTo(bus, "master");
  return {
    bus,
    operator,
    peels,
    masters,
    work: countExecutions(peels),
    rollouts: await followRollouts(operator),
    jobs: await followJobs(operator),
  };
}

async function stopFleet(fleet: Fleet): Promise<void> {
  for (const peel of fleet.peels) await peel[Symbol.asyncDispose]();
  for (const master of fleet.masters) await master[Symbol.asyncDispose]();
  fleet.rollouts.stop();
  fleet.jobs.stop();
  await fleet.operator.nats.close();
  await fleet.bus[Symbol.asyncDispose]();
}

const step = (name: string) => ({ msg: "rollout step", step: name, wave: 2 });
const steps = {
  "before the first wave": { record: { msg: "rollout started" } },
  dispatching: { record: step("dispatching") },
  "dispatching, the job just made": {
    record: { msg: "job dispatched", function: "test.echo", targets: 2 },
  },
  waiting: { record: step("waiting") },
  soaking: { record: step("soaking") },
  asking: { record: step("asking") },
  "asking, the check just made": { record: { msg: "job dispatched", function: "test.ping", targets: 2 } },
  checking: { record: step("checking") },
  ready: { record: step("ready") },
} satisfies Record<string, Omit<Trap, "signal">>;
/** Where the driver is hit: at the first record of its log that looks like this, or soon after it. */
const moments: Record<string, Omit<Trap, "signal">> = {
  ...steps,
  "dispatching, the job about to be made": { record: step("dispatching"), check: 2 },
  "soaking, the check decided and not stored": { record: step("soaking"), check: 1 },
  "asking, the check about to be made": { record: step("asking"), check: 2 },
  "ready, the next wave decided and not stored": { record: step("ready"), check: 1 },
};

/** The calls to hold, so that the driver fails while they run, and nothing ends before the takeover. */
function heldAt(moment: string): string[] {
  if (moment.startsWith("ready")) return [];
  return ofSecond(/^(before|dispatching|waiting)/.test(moment) ? "test.echo" : "test.ping");
}

let count = 0;

const isTaken = (id: string) => (rollout: Rollout) => rollout.id === id && rollout.token > 1;

/** The kernel reports a stopped process only to its parent's runtime, which does not expose it. */
async function untilStopped(pid: number): Promise<void> {
  await until(async () => /^State:\s+T/m.test(await Bun.file(`/proc/${pid}/status`).text()));
}

/** A rollout whose driver fails at this moment. One peel may fail, and the first one always does. */
async function fall(fleet: Fleet, moment: string, signal: "SIGKILL" | "SIGSTOP", ...failing: string[]) {
  const [driver, second] = fleet.masters as [RolloutMaster, RolloutMaster];
  const text = `${++count}`;
  fleet.work.fail("peel-a test.echo", ...failing);
  const held = heldAt(moment);
  fleet.work.hold(lastWave, ...held);
  // A job that was made and not sent is sent again to those who are there.
  for (const peel of fleet.peels) await peel.beat();
  driver.trap({ record: {}, ...moments[moment], signal });
  const started = driver.rollouts("POST", "", {
    target: "peel-*",
    function: "test.echo",
    args: { text },
    waves: ["2", "1"],
    max_failures: 1,
    check: { function: "test.ping" },
  });
  // A master that dies with the start in hand answers nothing.
  started.catch(() => {});
  const { id } = await fleet.rollouts.until(({ args }) => args.text === text);
  await (signal === "SIGKILL" ? driver.program.exited : untilStopped(driver.program.pid));
  /** The other one drives next, and there are two again. */
  const replace = async () => {
    fleet.masters = [second, signal === "SIGKILL" ? await startRolloutMaster(fleet.bus) : driver];
  };
  return { id, driver, second, replace, letGo: () => fleet.work.letGo(...held) };
}

/** The effects of a rollout, from the executed jobs of its peels and the stored records. */
function accountOf(fleet: Fleet, { id, forbidden, waves }: Rollout) {
  const jobs = [...fleet.jobs.jobs.values()].filter(({ metadata }) => metadata.rollout === id);
  const jids = new Set(jobs.map(({ jid }) => jid));
  const ran = fleet.work.ran.filter(({ jid }) => jids.has(jid));
  const waveOf = (jid: string) => Number.parseInt(String(fleet.jobs.jobs.get(jid)?.metadata.wave), 10);
  const reported = waves.flatMap(({ job, check }) =>
    check === undefined ? [job.jid] : [job.jid, check.jid],
  );
  return {
    ran: ran.map((one) => `${one.peel} ${one.function}`).sort(),
    waves: ran.map(({ jid }) => waveOf(jid)),
    /** Begun while another job of the rollout ran. */
    tooEarly: ran.filter(({ jid, beside }) => beside.some((other) => other !== jid && jids.has(other))),
    made: jobs
      .filter((job) => job.forbidden !== true)
      .map(({ jid }) => jid)
      .sort(),
    reported: reported.sort(),
    planned: jobs
      .filter((job) => job.forbidden === true)
      .map(({ jid }) => jid)
      .sort(),
    forbidden: [...forbidden].sort(),
  };
}

const wholeWave = (...peels: string[]) => peels.flatMap((peel) => [`${peel} test.echo`, `${peel} test.ping`]);
const firstWave = "peel-a test.echo";
/** The executed jobs must not change after every master has stopped. */
const accounts: { fleet: Fleet; rollout: Rollout; account: ReturnType<typeof accountOf> }[] = [];

function expectRan(fleet: Fleet, rollout: Rollout, ran: readonly string[]): void {
  const account = accountOf(fleet, rollout);
  accounts.push({ fleet, rollout, account });
  expect(account.ran).toEqual([...ran].sort());
  expect(account.waves).toEqual([...account.waves].sort((a, b) => a - b));
  expect(account.tooEarly).toEqual([]);
  expect(account.made).toEqual(account.reported);
  expect(account.planned).toEqual(account.forbidden);
}

const hasEnded = (id: string) => (rollout: Rollout) => rollout.id === id && !isLive(rollout);
/** The job of these moments was to be made, and nobody could know whether it was. */
const isUnsure = (moment: string) => /^(dispatching|asking)(, .* about to be made)?$/.test(moment);

/** Lets a frozen master go on, and waits until it has found out that the rollout is another's. */
async function thaw({ program }: RolloutMaster, id: string): Promise<void> {
  program.kill("SIGCONT");
  await program.waitFor(new RegExp(`"rollout belongs to another master".*"rollout":"${id}"`));
}

async function survive(fleet: Fleet, moment: string, signal: "SIGKILL" | "SIGSTOP") {
  const { id, driver, second, replace, letGo } = await fall(fleet, moment, signal);
  await replace();
  await second.giveUpDrivers(fleet.rollouts.until(isTaken(id)));
  letGo();
  const before = fleet.work.ran.length;
  await fleet.work.until((ran) => ran.slice(before - 1).some(({ peel }) => peel === "peel-d"));
  if (signal === "SIGSTOP") await thaw(driver, id);
  fleet.work.letGo(lastWave);
  const rollout = await fleet.rollouts.until(hasEnded(id));
  expect(rollout).toMatchObject({ status: "completed", failures: 1 });
  expect(rollout.waves.map(({ job }) => job.counts)).toEqual([{ failed: 1 }, { ok: 2 }, { ok: 1 }]);
  expect(rollout.forbidden.length).toBe(isUnsure(moment) ? 1 : 0);
  expectRan(fleet, rollout, [firstWave, ...wholeWave("peel-b", "peel-c", "peel-d")]);
}

async function closeGate(fleet: Fleet, moment: "waiting" | "checking", signal: "SIGKILL" | "SIGSTOP") {
  const failing = moment === "waiting" ? "test.echo" : "test.ping";
  const { id, driver, second, replace, letGo } = await fall(fleet, moment, signal, `peel-b ${failing}`);
  await replace();
  await second.giveUpDrivers(fleet.rollouts.until(isTaken(id)));
  if (signal === "SIGSTOP") await thaw(driver, id);
  letGo();
  const rollout = await fleet.rollouts.until(hasEnded(id));
  expect(rollout).toMatchObject({ status: "failed", failures: 2 });
  expect(rollout.reason).toBe("2 failed by wave 2 of 3, at most 1 may");
  const ran = moment === "waiting" ? ofSecond("test.echo") : wholeWave("peel-b", "peel-c");
  expectRan(fleet, rollout, [firstWave, ...ran]);
}

/** What has run of a rollout that was aborted at this moment. */
function ranBy(moment: string): string[] {
  if (moment === "before the first wave") return [];
  if (moment === "dispatching" || moment === "dispatching, the job just made") return [firstWave];
  const isChecked = moment === "checking" || moment === "ready";
  return [firstWave, ...(isChecked ? wholeWave("peel-b", "peel-c") : ofSecond("test.echo"))];
}

async function abort(fleet: Fleet, moment: string, signal: "SIGKILL" | "SIGSTOP") {
  const { id, driver, second, replace } = await fall(fleet, moment, signal);
  expect(await second.rollouts("POST", `/${id}/abort`)).toMatchObject({ status: 200 });
  const rollout = await fleet.rollouts.until(hasEnded(id));
  expect(rollout).toMatchObject({ status: "aborted", reason: "aborted by tester" });
  expect(rollout.forbidden.length).toBe(isUnsure(moment) ? 1 : 0);
  expectRan(fleet, rollout, ranBy(moment));
  if (signal === "SIGSTOP") driver.program.kill("SIGCONT");
  await replace();
}

const signals = {
  SIGKILL: "the driver is killed",
  SIGSTOP: "the driver is frozen, and goes on when another has taken over",
} as const;

for (const signal of ["SIGKILL", "SIGSTOP"] as const) {
  describe(signals[signal], () => {
    let fleet: Fleet;
    let planned = 0;
    beforeAll(async () => {
      fleet = await startFleet();
    });
    afterAll(() => stopFleet(fleet));

    const add = (title: string, scenario: (fleet: Fleet) => Promise<void>) => {
      planned++;
      test(title, () => scenario(fleet));
    };
    for (const moment of Object.keys(moments)) {
      add(`${moment}: every peel runs once, wave after wave`, (fleet) => survive(fleet, moment, signal));
    }
    for (const moment of ["waiting", "checking"] as const) {
      add(`${moment}: a failure meanwhile closes the gate`, (fleet) => closeGate(fleet, moment, signal));
    }
    for (const moment of Object.keys(steps)) {
      add(`${moment}: an abort ends it at once, and nothing begins any more`, (fleet) =>
        abort(fleet, moment, signal),
      );
    }
    test("in the end, with every master stopped, nothing has changed", async () => {
      for (const master of fleet.masters) await master[Symbol.asyncDispose]();
      const ended = accounts.filter((one) => one.fleet === fleet);
      expect(ended).toHaveLength(planned);
      expect(fleet.work.failures).toEqual([]);
      for (const { rollout, account } of ended) expect(accountOf(fleet, rollout)).toEqual(account);
    });
  });
}
