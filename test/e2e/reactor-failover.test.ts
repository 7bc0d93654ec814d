import { beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { connectTo, startBus } from "../harness/bus.ts";
import { connectManualPeel } from "../harness/manual-peel.ts";
import { startMaster } from "../harness/master.ts";
import { enrollPeel } from "../harness/peel-connection.ts";
import {
  figures,
  figuresBecome,
  followJobs,
  reactionOf,
  rulesDirectory,
  sendEvent,
} from "../harness/reactor.ts";
import { type MasterProcess, startMasterProcess } from "../harness/reactor-process.ts";

// The master that runs the reactor fails with events in progress: it is killed, or it is paused until its
// lease expires and then continues. Both take as long as a lease, so they run concurrently, each on its own
// bus.

setDefaultTimeout(90_000);

const events = 40;
const workers = 4;
const done = 'svc_reactor_actions_total{action="job",result="ok"}';

/** The result of the events. */
interface Outcome {
  /** Jobs that the first holder had started when it failed. */
  before: number;
  /** Numbers that the events carried, by job, in any order. */
  numbers: number[];
  jobs: number;
  /** Jobs that the first holder started after it continued. */
  late: number;
}

let killed: Promise<Outcome>;
let paused: Promise<Outcome>;

beforeAll(() => {
  killed = scenario("SIGKILL");
  paused = scenario("SIGSTOP");
  killed.catch(() => {});
  paused.catch(() => {});
});

/** Resolves with the master that holds the lease. */
async function holderOf(masters: readonly MasterProcess[]): Promise<MasterProcess> {
  const acquired = ({ program }: MasterProcess) =>
    program.waitFor(/"lease acquired".*"lease":"reactor"|"lease":"reactor".*"lease acquired"/);
  return Promise.race(masters.map((master) => acquired(master).then(() => master)));
}

async function scenario(signal: "SIGKILL" | "SIGSTOP"): Promise<Outcome> {
  const inHand = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  let calls = 0;
  const hook = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    async fetch() {
      calls++;
      if (calls === workers) inHand.resolve();
      if (calls <= workers) await released.promise;
      return new Response();
    },
  });
  using directory = rulesDirectory(`
rules:
  - name: mend
    match: broken/now
    do:
      - job: { target: "\${source}", function: test.echo, args: { text: "\${data.n}" } }
      - webhook: { url: "http://127.0.0.1:${hook.port}/" }
`);
  await using bus = await startBus();
  await using door = await startMaster(bus, { config: { reactor: { enabled: false } } });
  const enrolled = await enrollPeel(door, "web1");
  await using peel = await connectManualPeel(bus, enrolled);
  const config = directory.config({
    workers,
    storm_rate: 0,
    source_rate_limit: 0,
    webhook_allow: ["127.0.0.1"],
  });
  await using one = await startMasterProcess(bus, config);
  await using two = await startMasterProcess(bus, config);
  const first = await holderOf([one, two]);
  const second = first === one ? two : one;
  const fleet = await connectTo(bus, "master");
  const jobs = await followJobs(fleet);
  for (let n = 0; n < events; n++) await sendEvent(peel.connection, "web1", "broken/now", { n: String(n) });
  // Most events have their job by now, some have none, and of none the bus knows that it is over.
  await inHand.promise;
  first.program.kill(signal);
  await holderOf([second]);
  const before = jobs.jobs.size;
  await jobs.until((all) => all.size >= events);
  // The second began them all, also those that the first had in hand.
  await figuresBecome([second], (sample) => sample.get(done) === events);
  let late = 0;
  if (signal === "SIGSTOP") {
    first.program.kill("SIGCONT");
    released.resolve();
    await first.program.waitFor('"lease lost"');
    // It finds its tenure over: what it had in hand is not done again.
    late = Math.max(0, ((await figures(first)).get(done) ?? 0) - before);
  }
  released.resolve();
  // All duplicates would have arrived when the second master has no events left.
  const outcome = {
    numbers: [...jobs.jobs.values()].map(({ args }) => Number(args.text)).sort((a, b) => a - b),
    jobs: [...jobs.jobs.values()].filter((job) => reactionOf(job)?.rule === "mend").length,
    late,
  };
  jobs.stop();
  await fleet.nats.close();
  await hook.stop(true);
  return { ...outcome, before };
}

const all = Array.from({ length: events }, (_, n) => n);

test("a master that dies with events in hand: each has its job, once", async () => {
  const { numbers, jobs, before } = await killed;
  expect(before).toBeGreaterThan(0);
  expect(before).toBeLessThan(events);
  expect(numbers).toEqual(all);
  expect(jobs).toBe(events);
});

test("a master that was paused past its lease begins nothing when it goes on: each event has its job, once", async () => {
  const { numbers, jobs, late } = await paused;
  expect(numbers).toEqual(all);
  expect([jobs, late]).toEqual([events, 0]);
});
