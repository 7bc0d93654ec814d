import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { startBus, type TestBus } from "../harness/bus.ts";
import { cli, type RunningCli, startCli } from "../harness/cli.ts";
import { connectManualPeel, type ManualPeel } from "../harness/manual-peel.ts";
import { startMaster, type TestMaster } from "../harness/master.ts";
import { enrollPeel } from "../harness/peel-connection.ts";

// svc rollout on a real bus with a master, and peels under manual control.

setDefaultTimeout(60_000);

let bus: TestBus;
let master: TestMaster | undefined;
let a: ManualPeel;
let b: ManualPeel;

beforeAll(async () => {
  bus = await startBus();
  master = await startMaster(bus);
  a = await connectManualPeel(bus, await enrollPeel(master, "web-1_example"), { beats: true });
  b = await connectManualPeel(bus, await enrollPeel(master, "web-2_example"), { beats: true });
  // It never connects.
  await enrollPeel(master, "db-1_example");
});
afterAll(async () => {
  await a?.[Symbol.asyncDispose]();
  await b?.[Symbol.asyncDispose]();
  await master?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

const svc = (...argv: string[]) => cli(bus, "rollout", ...argv);
const start = (...more: string[]) => startCli(bus, ["rollout", "start", "web-*", "test.ping", ...more]);
const idOf = async (running: RunningCli) => (await running.wrote(/(rol-\w+)/))[1] ?? "";

/** The next job of a peel, which it answers. */
async function answer(peel: ManualPeel, value = {}): Promise<string> {
  const { jid } = await peel.next("dispatch");
  await peel.answer(jid, value);
  return jid;
}

test("start shows the frozen waves, tells of each step, and ends with the table of what came of them", async () => {
  const running = start("--waves", "1", "--wide");
  const id = await idOf(running);
  const jids = [await answer(a), await answer(b)];
  expect(await running.exit).toBe(0);
  expect(running.stderr.split("\n")).toEqual([
    `${id}: 2 peels in 2 waves, at most 0 may fail`,
    "WAVE  PEELS  WHO            JOB  OUTCOME  CHECK",
    "1/2   1      web-1.example  -    -        -",
    "2/2   1      web-2.example  -    -        -",
    `wave 1/2: ${jids[0]} on 1 peel`,
    "wave 1/2: 1 ok",
    `wave 2/2: ${jids[1]} on 1 peel`,
    "wave 2/2: 1 ok",
    `${id} completed; 0 peels of 2 failed`,
    "",
  ]);
  expect(running.stdout.split("\n").slice(1, 3)).toEqual([
    `1/2   1      web-1.example  ${jids[0]}  1 ok     -`,
    `2/2   1      web-2.example  ${jids[1]}  1 ok     -`,
  ]);
  const listed = await svc("list", "--status", "completed", "--output", "json");
  expect(JSON.parse(listed.stdout)).toMatchObject([{ id, status: "completed", wave: 2, waves: 2 }]);
});

test("on a terminal the progress of the job comes and goes with its wave", async () => {
  const argv = ["rollout", "start", "web-*", "test.ping", "--waves", "1", "--check", "test.ping"];
  const running = startCli(bus, argv, { tty: true });
  await running.wrote(/0\/1 {2}1 waiting/);
  for (const peel of [a, a, b, b]) await answer(peel);
  expect(await running.exit).toBe(0);
  expect(running.stderr).toMatch(/wave 2\/2: check 1 ok\n.* completed; 0 peels of 2 failed\n$/);
});

test("a dry run shows who would be in which wave; a gate that closes exits with 1 and says why", async () => {
  const dry = await svc("start", "web-*", "test.ping", "--canary", "0", "--waves", "100%", "--dry-run");
  expect([dry.exit, dry.stderr]).toEqual([
    0,
    "2 peels in one wave, at most 0 may fail; nothing was started\n",
  ]);
  const running = start("--waves", "1");
  const id = await idOf(running);
  await answer(a, { success: false, retcode: 1 });
  expect(await running.exit).toBe(1);
  expect(running.stderr).toContain(
    `${id} failed: 1 failed by wave 1 of 2, at most 0 may; 1 peel of 2 failed`,
  );
  const shown = JSON.parse((await svc("show", id, "--output", "json")).stdout);
  expect(shown).toMatchObject({ status: "failed", step: "soaking", waves: [{ counts: { failed: 1 } }, {}] });
  const late = await svc("abort", id);
  expect([late.exit, late.stderr]).toEqual([1, expect.stringContaining("the rollout has ended (failed)")]);
});

test("a first wave that is not connected is said before it waits, and what a rollout waits for is shown", async () => {
  const dry = await svc("start", "*", "test.ping", "--dry-run", "--output", "json");
  expect(dry.stderr).toContain(
    "the first wave waits until its timeout: db-1.example is not connected, see svc doctor db-1.example\n",
  );
  expect(JSON.parse(dry.stdout)).toMatchObject({ not_connected: ["db-1_example"] });
  const started = await svc("start", "db-*", "test.ping", "--timeout", "10m", "--async");
  expect(started.stderr).toContain("db-1.example is not connected");
  const id = started.stdout.trim();
  const watching = startCli(bus, ["rollout", "watch", id]);
  await watching.wrote(/wave 1\/1: job/);
  const waits = /^the job of the wave, until about 20.*: svc job show job-/;
  expect(JSON.parse((await svc("list", "--output", "json")).stdout)[0]).toMatchObject({
    id,
    waits_for: expect.stringMatching(waits),
  });
  expect((await cli(bus, "status")).stdout).toMatch(/WAITS FOR\n.*the job of the wave, until about 20/);
  expect((await svc("abort", id)).exit).toBe(0);
  expect(await watching.exit).toBe(1);
});

test("Ctrl-C leaves it alone; then it is paused, resumed, watched again and aborted", async () => {
  const running = start("--waves", "1", "--timeout", "10s");
  const id = await idOf(running);
  await running.wrote(/wave 1\/2/);
  running.interrupt();
  expect(await running.exit).toBe(130);
  expect(running.stderr).toContain(`${id} continues to run: watch it with svc rollout watch ${id}`);
  expect((await svc("pause", id)).stdout).toBe(`${id}  paused\n`);
  const watching = startCli(bus, ["rollout", "watch", id]);
  await watching.wrote(/is paused by .*: no other wave begins/);
  await answer(a);
  await watching.wrote(/wave 1\/2: 1 ok/);
  expect((await svc("resume", id)).exit).toBe(0);
  const { jid } = await b.next("dispatch");
  await b.acknowledge(jid);
  const aborting = startCli(bus, ["rollout", "abort", id]);
  await b.next("stop");
  await b.answer(jid, { success: false, retcode: 1, outcome: "cancelled" });
  expect([await aborting.exit, await watching.exit]).toEqual([0, 1]);
  expect(watching.stderr).toContain(`${id} aborted: aborted by`);
});

test("at a terminal many peels and an abort are asked for first, and --yes answers", async () => {
  const at = (confirmAbove: number, argv: readonly string[], answer = "n") =>
    startCli(bus, argv, { answer, confirmAbove });
  const request = ["rollout", "start", "web-*", "test.ping", "--waves", "1"];
  const declined = at(1, request);
  expect([await declined.exit, declined.stdout, declined.stderr]).toEqual([
    ...[1, "", "Roll out test.ping on 2 peels? [y/N] n\nnothing was done\n"],
  ]);
  // As many as nobody is asked about; a plan starts nothing; what means nobody is said as before.
  const few = at(2, [...request, "--async"]);
  const id = await idOf(few);
  const planned = at(0, [...request, "--dry-run"]);
  expect([await planned.exit, planned.stderr]).toEqual([0, expect.not.stringContaining("[y/N]")]);
  const nobody = at(0, ["rollout", "start", "none-*", "test.ping"]);
  expect([await nobody.exit, nobody.stderr]).toEqual([1, expect.stringContaining("no peel matches")]);
  const { jid } = await a.next("dispatch");
  await a.acknowledge(jid);
  const kept = at(25, ["rollout", "abort", id]);
  expect([await kept.exit, kept.stdout, kept.stderr]).toEqual([
    1,
    "",
    `Abort ${id}: no further wave starts, and the job of its wave is cancelled? [y/N] n\nnothing was done\n`,
  ]);
  expect(JSON.parse((await svc("show", id, "--output", "json")).stdout)).toMatchObject({ status: "running" });
  const aborting = at(25, ["rollout", "abort", id, "--yes"]);
  await a.next("stop");
  await a.answer(jid, { success: false, retcode: 1, outcome: "cancelled" });
  expect([await aborting.exit, aborting.stderr]).toEqual([0, expect.not.stringContaining("[y/N]")]);
});

test("what is wrong is told before anything is sent, by the name of the option", async () => {
  const wrong: [string[], number, string][] = [
    [["start", "web-*", "test.png"], 2, "did you mean test.ping?"],
    [["start", "web-*", "test.ping", "--canary", "150%"], 2, '--canary: "150%" is neither a number'],
    [["start", "web-*", "test.ping", "--waves", "5%,x"], 2, '--waves: "x" is neither a number'],
    [["start", "web-*", "test.ping", "--check", "test.png"], 2, "--check: unknown function"],
    [["start", "web-*", "test.ping", "--wave-wait", "5"], 2, "--wave-wait:"],
    [["start", "web-*", "test.ping", "--async", "--dry-run"], 2, "not both"],
    [["start", "none-*", "test.ping"], 1, "no peel matches the target"],
    [["show", "rol-x"], 1, "the rollout does not exist: see svc rollout list"],
    [["watch", `rol-${"0".repeat(27)}`], 1, "the rollout does not exist"],
    [["pause", `rol-${"0".repeat(27)}`], 1, "the rollout does not exist"],
    [["list", "--limit", "0"], 2, "--limit:"],
  ];
  for (const [argv, exit, message] of wrong) {
    const run = await svc(...argv);
    expect([argv, run.exit, run.stderr]).toEqual([argv, exit, expect.stringContaining(message)]);
    expect(run.stderr.trim().split("\n")).toHaveLength(1);
  }
});

test("without a master it cannot be seen, and each command says that none is there", async () => {
  const running = start("--waves", "1", "--async");
  const id = await idOf(running);
  await a.next("dispatch");
  await master?.[Symbol.asyncDispose]();
  master = undefined;
  const shown = await svc("show", id, "--wide");
  expect([shown.exit, shown.stderr]).toEqual([1, expect.stringContaining("no master is answering")]);
  const paused = await svc("pause", id);
  expect([paused.exit, paused.stderr]).toEqual([1, expect.stringContaining("no master is answering")]);
});
