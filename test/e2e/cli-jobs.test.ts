import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { systemClock } from "../../internal/base/clock.ts";
import { newId, systemRandom } from "../../internal/base/id.ts";
import { openBucket } from "../../internal/bus/storage/bucket.ts";
import { request } from "../../internal/cli/request.ts";
import { jobOperations } from "../../internal/fleet/jobs/mod.ts";
import { encodeJob } from "../../internal/fleet/jobs/records/record.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import { cli, type RunningCli, startCli } from "../harness/cli.ts";
import { manualClock } from "../harness/clock.ts";
import { connectManualPeel, type ManualPeel } from "../harness/manual-peel.ts";
import { startMaster, type TestMaster } from "../harness/master.ts";
import { enrollPeel } from "../harness/peel-connection.ts";

// svc run and svc job on a real bus with a master, and peels under manual control.

setDefaultTimeout(60_000);

let bus: TestBus;
let master: TestMaster;
let isMasterGone = false;
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
  if (!isMasterGone) await master?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

const svc = (...argv: string[]) => cli(bus, ...argv);

/** Waits for the next job of both peels, and answers it. */
async function answerBoth(answers: Parameters<ManualPeel["answer"]>[1][] = []): Promise<string> {
  const { jid } = await a.next("dispatch");
  await b.next("dispatch");
  await a.answer(jid, answers[0]);
  await b.answer(jid, answers[1]);
  return jid;
}

const jidOf = async (running: RunningCli) => (await running.wrote(/(job-\w+) on/))[1] ?? "";

describe("svc run", () => {
  test("prints what each peel answered, the job and the summary beside it", async () => {
    const running = startCli(bus, ["run", "web-*", "test.ping"]);
    const jid = await answerBoth([{ return: { stdout: "x\ny\n", stderr: "" } }]);
    expect(await running.exit).toBe(0);
    expect(running.stdout.split("\n")).toEqual([
      "PEEL ID        OUTCOME  RETURN",
      "web-1.example  ok",
      "    x",
      "    y",
      "web-2.example  ok       true",
      "",
    ]);
    expect(running.stderr).toMatch(new RegExp(`^${jid} on 2 peels[^\n]*\n2 peels: 2 ok\n$`));
  });

  test("exits with 1 when a peel failed, and as data prints the job as REST does", async () => {
    const running = startCli(bus, ["run", "web-*", "test.ping", "--output", "json"]);
    const jid = await answerBoth([{ success: false, retcode: 2, error: "exit status 2" }]);
    expect(await running.exit).toBe(1);
    expect(JSON.parse(running.stdout)).toMatchObject({
      jid,
      status: "failed",
      counts: { ok: 1, failed: 1 },
      outcomes: { "web-1_example": "failed", "web-2_example": "ok" },
      returns: { "web-1_example": { error: "exit status 2", retcode: 2 } },
    });
    expect(running.stderr).toEndWith("2 peels: 1 ok, 1 failed\n");
  });

  test("shows a bar on a terminal, and takes it away in the end", async () => {
    const running = startCli(bus, ["run", "web-*", "test.ping"], { tty: true });
    await running.wrote(/\r\[\.+\] {2}0\/2 {2}2 waiting {2}\d+s/);
    await answerBoth();
    expect(await running.exit).toBe(0);
    expect(running.stderr).toEndWith("\r\u001b[K2 peels: 2 ok\n");
  });

  test("--async prints the job id alone, and how to watch it", async () => {
    const { exit, stdout, stderr } = await svc("run", "web-1.example", "test.ping", "--async");
    const { jid } = await a.next("dispatch");
    expect([exit, stdout]).toEqual([0, `${jid}\n`]);
    expect(stderr).toEndWith(`; watch with svc job watch ${jid}\n`);
    await a.answer(jid);
  });

  test("--preview runs nothing", async () => {
    const sent = a.count("dispatch");
    const shown = await svc("run", "*-1.*", "test.ping", "--preview", "--batch", "1", "--output", "json");
    expect([shown.exit, shown.stderr]).toEqual([0, "2 peels, 1 connected; nothing was run\n"]);
    expect(JSON.parse(shown.stdout)).toEqual([
      { peel: "db-1.example", peel_id: "db-1_example", alive: false, batch: "1/2" },
      { peel: "web-1.example", peel_id: "web-1_example", alive: true, batch: "2/2" },
    ]);
    expect((await svc("run", "*-1.*", "test.ping", "--preview")).stdout).toMatch(
      /^PEEL ID +CONNECTED\ndb-1\.example +no\nweb-1\.example +yes\n$/,
    );
    expect(a.count("dispatch")).toBe(sent);
  });

  test("--batch runs one job after the other", async () => {
    const running = startCli(bus, ["run", "web-*", "test.ping", "--batch", "50%", "--output", "json"]);
    const first = await a.next("dispatch");
    expect(b.count("dispatch")).toBe(a.count("dispatch") - 2);
    await a.answer(first.jid);
    const second = await b.next("dispatch");
    await b.answer(second.jid, { success: false, retcode: 1, error: "no" });
    expect(await running.exit).toBe(1);
    expect(JSON.parse(running.stdout)).toMatchObject([
      { jid: first.jid, targets: ["web-1_example"], metadata: { batch: "1/2" }, status: "completed" },
      { jid: second.jid, targets: ["web-2_example"], metadata: { batch: "2/2" }, status: "failed" },
    ]);
    expect(running.stderr).toMatch(
      /^batch 1\/2: job-\w+ on 1 peel[^\n]*\nbatch 2\/2: job-\w+ on 1 peel[^\n]*\n2 peels: 1 ok, 1 failed\n$/,
    );
  });

  test("Ctrl-C leaves the job alone and tells how to get back to it", async () => {
    const running = startCli(bus, ["run", "web-1.example", "test.ping"], { tty: true });
    const { jid } = await a.next("dispatch");
    await running.wrote(/1 waiting/);
    running.interrupt();
    expect(() => running.interrupt()).toThrow("nobody listens");
    expect(await running.exit).toBe(130);
    expect(running.stdout).toBe("");
    expect(running.stderr).toEndWith(
      `${jid} continues to run: watch it with svc job watch ${jid}\nend it with svc job cancel ${jid}\n`,
    );
    const watching = startCli(bus, ["job", "watch", jid]);
    await a.answer(jid);
    expect(await watching.exit).toBe(0);
    expect(watching.stdout).toContain("true");
  });

  test("ends by itself at the deadline, whatever the peels do", async () => {
    const running = startCli(bus, ["run", "web-*", "test.ping", "--timeout", "300ms"]);
    const { jid } = await a.next("dispatch");
    await b.next("dispatch");
    await a.acknowledge(jid);
    expect(await running.exit).toBe(1);
    expect(running.stdout).toMatch(
      /^2 peels: web-1\.example, web-2\.example +timeout +no answer by the deadline$/m,
    );
    expect(running.stderr).toContain("2 peels: ");
    await a.answer(jid);
    expect((await svc("job", "show", jid)).stdout).toMatch(/web-1\.example +timeout \(late\) +true/);
  });
});

describe("svc job", () => {
  test("list, show and cancel", async () => {
    const running = startCli(bus, ["run", "web-*", "test.ping"]);
    const jid = await jidOf(running);
    await a.next("dispatch");
    await b.next("dispatch");
    await a.answer(jid, { return: "first" });
    await b.acknowledge(jid);

    expect((await svc("job", "show", jid)).stdout).toMatch(/^web-2\.example +waiting$/m);
    const kept = startCli(bus, ["job", "cancel", jid], { answer: "n" });
    expect([await kept.exit, kept.stdout, kept.stderr]).toEqual([
      ...[
        1,
        "",
        `Cancel ${jid}: it starts on no other peel, and is stopped where it runs? [y/N] n\nnothing was done\n`,
      ],
    ]);
    expect(await svc("job", "cancel", jid)).toMatchObject({ exit: 0, stdout: `cancelled ${jid}\n` });
    expect((await b.next("stop")).jid).toBe(jid);
    // While it runs somewhere, the peels are told again.
    const cancelling = startCli(bus, ["job", "cancel", jid, "--wait"]);
    expect((await b.next("stop")).jid).toBe(jid);
    await b.answer(jid, { success: false, retcode: 1, error: "stopped", outcome: "cancelled" });
    expect(await cancelling.exit).toBe(0);
    expect(cancelling.stdout).toMatch(/web-2\.example +cancelled +stopped/);
    expect(cancelling.stderr).toEndWith("2 peels: 1 ok, 1 cancelled\n");
    expect(await running.exit).toBe(1);

    const shown = await svc("job", "show", jid);
    expect(shown.exit).toBe(0);
    expect(shown.stdout).toMatch(/^Target +web-\*\nStatus +cancelled\nPeels +2 peels: 1 ok, 1 cancelled$/m);
    const one = await svc("job", "show", jid, "--peel", "web-1.example", "--output", "json");
    expect(JSON.parse(one.stdout)).toMatchObject({
      jid,
      peel_id: "web-1_example",
      outcome: "ok",
      return: "first",
    });
    expect((await svc("job", "show", jid, "--peel", "web-9")).exit).toBe(1);

    const listed = await svc("job", "list", "--limit", "1", "--wide");
    expect(listed.stdout).toMatch(/^JID +FUNCTION +TARGET +PEELS +STATUS +OK +NOT OK +SOURCE +BY +CREATED\n/);
    expect(listed.stdout).toMatch(new RegExp(`\n${jid} +test\\.ping +web-\\* +2 +\\w+ +`));
    expect(listed.stderr).toContain("there are more");
    const none = await svc("job", "list", "--status", "running");
    expect([none.exit, none.stderr]).toEqual([0, "no jobs\n"]);
    expect((await svc("job", "cancel", jid)).stderr).toMatch(
      /^svc: the job has ended \(cancelled\): it cannot/,
    );
  });

  test("what has ended cannot be cancelled, and is watched at once", async () => {
    const running = startCli(bus, ["run", "web-*", "test.ping"]);
    const jid = await answerBoth();
    expect(await running.exit).toBe(0);
    expect((await svc("job", "cancel", jid)).stderr).toMatch(
      /^svc: the job has ended \(completed\): it cannot be cancelled \[request [0-9a-f-]{36}\]\n$/,
    );
    const watched = await svc("job", "watch", jid);
    expect([watched.exit, watched.stderr]).toEqual([0, "2 peels: 2 ok\n"]);
  });

  test.each([["show"], ["watch"], ["cancel"]])("%s of a job that does not exist", async (verb) => {
    const jid = "job-3MPFSICSuHM6n9ASVzK0s68GQu3";
    // Only refusals of a master are in the log of a master.
    const said =
      verb === "cancel"
        ? /^svc: the job does not exist: see svc job list \[request [0-9a-f-]{36}\]\n$/
        : "svc: the job does not exist: see svc job list\n";
    expect(await svc("job", verb, jid)).toEqual({
      exit: 1,
      stdout: "",
      stderr: typeof said === "string" ? said : expect.stringMatching(said),
    });
    expect((await svc("job", verb, "a job.*")).stderr).toBe(
      "svc: the job does not exist: see svc job list\n",
    );
  });
});

describe("answers", () => {
  test("that are equal are one row, and --failed shows the others", async () => {
    const running = startCli(bus, ["run", "web-*", "test.ping"]);
    await answerBoth();
    expect(await running.exit).toBe(0);
    expect(running.stdout).toBe(
      "PEEL ID                                OUTCOME  RETURN\n2 peels: web-1.example, web-2.example  ok       true\n",
    );
    const failing = startCli(bus, ["run", "web-*", "test.ping", "--failed"]);
    const jid = await answerBoth([{}, { success: false, retcode: 1, error: "no" }]);
    expect(await failing.exit).toBe(1);
    expect(failing.stdout).toMatch(/^PEEL ID +OUTCOME +RETURN\nweb-2\.example +failed +no\n +true\n$/);
    expect(failing.stderr).toEndWith("2 peels: 1 ok, 1 failed\n");
    const shown = JSON.parse((await svc("job", "show", jid, "--failed", "--output", "json")).stdout);
    expect([shown.targets, Object.keys(shown.returns)]).toEqual([["web-2_example"], ["web-2_example"]]);
    expect(shown.counts).toEqual({ ok: 1, failed: 1 });
  });

  test("are lines of data as they come, and the same later", async () => {
    const running = startCli(bus, ["run", "web-*", "test.ping", "--output", "jsonl", "--timeout", "2s"]);
    const { jid } = await b.next("dispatch");
    await a.next("dispatch");
    await b.answer(jid, { return: "line\n" });
    await running.wrote(/"jid"/);
    const [first] = running.stdout.split("\n");
    const line = { jid, peel: "web-2.example", peel_id: "web-2_example", outcome: "ok", return: "line\n" };
    expect(JSON.parse(first ?? "")).toMatchObject(line);
    await a.answer(jid, { success: false, retcode: 3, error: "no" });
    expect(await running.exit).toBe(1);
    expect(running.stdout.trim().split("\n")).toHaveLength(2);
    const shown = (await svc("job", "show", jid, "--output", "jsonl")).stdout.trim().split("\n");
    expect(shown.sort()).toEqual(running.stdout.trim().split("\n").sort());
    const failed = (await svc("job", "show", jid, "--output", "jsonl", "--failed")).stdout;
    expect(JSON.parse(failed)).toMatchObject({ peel_id: "web-1_example", outcome: "failed", retcode: 3 });
  });

  test("--again runs the same on the peels where it did not end well", async () => {
    const running = startCli(bus, ["run", "web-*", "test.echo", "hi", "--timeout", "7s"]);
    const first = await answerBoth([{}, { success: false, retcode: 1, error: "no" }]);
    expect(await running.exit).toBe(1);
    const again = startCli(bus, ["run", "--again", first]);
    const { jid } = await b.next("dispatch");
    const before = a.count("dispatch");
    await b.answer(jid);
    expect([await again.exit, a.count("dispatch")]).toEqual([0, before]);
    const shown = JSON.parse((await svc("job", "show", jid, "--output", "json")).stdout);
    expect(shown).toMatchObject({
      ...{ function: "test.echo", targets: ["web-2_example"], timeout: "7s", metadata: { again: first } },
      args: JSON.parse((await svc("job", "show", first, "--output", "json")).stdout).args,
    });
    expect(await svc("run", "--again", jid)).toMatchObject({
      exit: 1,
      stderr: "svc: the job has nothing to run again: every peel ended well\n",
    });
    expect((await svc("run", "--again", first, "--preview")).stdout).toMatch(/^PEEL ID.*\nweb-2\.example/);
  });
});

test("a job that has ended stays as it ended when its returns are discarded to make room", async () => {
  const running = startCli(bus, ["run", "web-*", "test.echo", "hi", "--timeout", "8s"]);
  const jid = await answerBoth();
  expect(await running.exit).toBe(0);
  const failing = startCli(bus, ["run", "web-*", "test.echo", "hi", "--timeout", "8s"]);
  const other = await answerBoth([{ success: false, retcode: 1, error: "no" }]);
  expect(await failing.exit).toBe(1);
  const json = async (id: string) =>
    JSON.parse((await svc("job", "show", id, "--output", "json")).stdout) as Record<string, unknown>;
  const before = await Promise.all([jid, other].map(json));
  const { nats } = await connectTo(bus, "master");
  const { streams } = await nats.jetstreamManager();
  for (const id of [jid, other]) await streams.purge("job-events", { filter: `svc.job.${id}.>` });
  await nats.close();
  for (const [at, id] of [jid, other].entries()) {
    // The master that wrote the end may have received a return a millisecond after the bus stored it.
    expect(await json(id)).toEqual({ ...before[at], returns: {}, finished_at: expect.any(String) });
    expect(await svc("job", "watch", id)).toMatchObject({ exit: at });
  }
  const discarded = "the answer was discarded to make room for later ones";
  expect((await svc("job", "show", jid)).stdout).toContain(
    `2 peels: web-1.example, web-2.example  ok       ${discarded}`,
  );
  expect(await svc("run", "--again", jid)).toMatchObject({
    exit: 1,
    stderr: "svc: the job has nothing to run again: every peel ended well\n",
  });
  const again = startCli(bus, ["run", "--again", other]);
  const { jid: repeated } = await a.next("dispatch");
  await a.answer(repeated);
  expect(await again.exit).toBe(0);
  expect(await json(repeated)).toMatchObject({ targets: ["web-1_example"] });
});

describe("svc job list", () => {
  const rows = async (...words: string[]) =>
    JSON.parse((await svc("job", "list", ...words, "--output", "json")).stdout) as Record<string, unknown>[];

  test("chooses jobs by function, operator, time, source and peel", async () => {
    const running = startCli(bus, ["run", "web-2.example", "test.version"]);
    const { jid } = await b.next("dispatch");
    await b.answer(jid);
    await running.exit;
    const [found] = await rows("--function", "test.v*");
    expect(found).toMatchObject({ jid, function: "test.version", source: "operator" });
    expect(
      await rows("--function", "test.v*", "--by", String(found?.created_by), "--since", "1h"),
    ).toHaveLength(1);
    expect(await rows("--target", "web-2.example", "--function", "test.version")).toHaveLength(1);
    const others = [
      ["--by", "nobody"],
      ["--source", "rollout"],
      ["--since", "2100-01-01"],
    ];
    others.push(["--target", "web-1.example"]);
    for (const words of others) expect(await rows("--function", "test.version", ...words)).toEqual([]);
    expect((await svc("job", "list", "--since", "soon")).stderr).toContain('--since: "soon" is not a time');
    expect((await svc("job", "list", "--source", "cron")).exit).toBe(2);
  });

  test("shows the runs of a schedule as one row, unless it is named", async () => {
    const writer = await connectTo(bus, "master");
    const jobs = await openBucket(writer, "jobs");
    const createdAt = systemClock.now();
    for (const status of ["completed", "failed", "completed"] as const) {
      const jid = newId("job", createdAt, systemRandom);
      const counts = status === "failed" ? { failed: 1 } : { ok: 1 };
      const run = { status, counts, finishedAt: createdAt, offline: [] };
      await jobs.create(
        jid,
        encodeJob({
          ...{ jid, function: "test.ping", args: {}, targets: ["web-1_example"], metadata: {}, timeoutMs: 1 },
          ...{
            createdAt,
            createdBy: "schedule",
            source: "schedule",
            schedule: "backup",
            deadline: createdAt,
            settled: run,
          },
        }),
      );
    }
    await writer.drain();
    expect(await rows("--source", "schedule")).toMatchObject([
      { schedule: "backup", runs: 3, failed_runs: 1 },
    ]);
    expect((await svc("job", "list", "--source", "schedule")).stdout).toMatch(
      /\njob-\w+ +test\.ping +schedule:backup +3 runs +\w+ +2 +1 +schedule/,
    );
    expect(await rows("--schedule", "back*")).toHaveLength(3);
  });
});

describe("mistakes", () => {
  test.each([
    [["run", "web-*", "tset.ping"], 2, 'unknown function "tset.ping" (did you mean test.ping?)'],
    [["run", "web-*", "test.ping", "surplus"], 2, "surplus"],
    [["run", "web-*", "test.ping", "--batch", "0"], 2, '--batch: "0" is not a batch'],
    [["run", "web-*", "test.ping", "--batch-wait", "1s"], 2, "--batch-wait needs --batch"],
    [
      ["run", "web-*", "test.ping", "--batch", "1", "--batch-wait", "1"],
      2,
      '--batch-wait: "1" is not a duration',
    ],
    [["run", "web-*", "test.ping", "--batch", "1", "--async"], 2, "give --async or --batch, not both"],
    [["run", "web-*", "test.ping", "--preview", "--async"], 2, "give --async or --preview, not both"],
    [["run", "web-*", "test.ping", "--timeout", "soon"], 2, '--timeout: "soon" is not a duration'],
    [
      ["run", "web-*", "test.ping", "--timout", "1s"],
      2,
      'unknown option "--timout" (did you mean --timeout?)',
    ],
    [
      ["run", "web-*", "test.ping", "-l"],
      2,
      'unknown option "-l"; put words that are not options of svc after "--"',
    ],
    [["run", "nobody-*", "test.ping"], 1, "no peel matches"],
    [["run", "nobody-*", "test.ping", "--preview"], 1, "no peel matches"],
    [["run", "nobody-*", "test.ping", "--batch", "2"], 1, "no peel matches"],
    [["run", "web-*", "test.ping", "--timeout", "999h"], 1, "timeout must be 1ms to 24h"],
    [["run"], 2, "<target> is required"],
    [["run", "web-*"], 2, "<function> is required"],
    [["run", "web-*", "test.ping", "--again", "job-1"], 2, "--again takes the function"],
    [["run", "--again", "job-1"], 1, "the job does not exist"],
    [["job", "list", "--limit", "0"], 2, '--limit: "0" is not a number from 1 to 1000'],
    [["job", "list", "--status", "done"], 2, "--status is running, completed, failed, cancelled"],
  ])("%p exits with %i", async (argv, exit, message) => {
    const ended = await svc(...argv);
    expect(ended).toEqual({ exit, stdout: "", stderr: expect.stringContaining(message) });
    expect(ended.stderr).toMatch(/^svc: [^\n]+\n$/);
  });
});

test("a job is followed through a master that is lost, and without one nothing is shown or started", async () => {
  const running = startCli(bus, ["run", "web-1.example", "test.ping"]);
  const { jid } = await a.next("dispatch");
  await running.wrote(/ on 1 peel/);
  await master[Symbol.asyncDispose]();
  isMasterGone = true;
  const none = { exit: 1, stdout: "", stderr: "svc: no master is answering: start svc-master\n" };
  const refused = [svc("run", "web-*", "test.ping"), svc("job", "list"), svc("job", "cancel", jid)];
  expect(await Promise.all(refused)).toEqual([none, none, none]);
  expect(await svc("job", "show", jid)).toMatchObject({
    exit: 1,
    stderr: expect.stringContaining("no master is answering"),
  });
  await a.answer(jid);
  await using _ = await startMaster(bus);
  expect(await running.exit).toBe(0);
  expect((await svc("job", "show", jid)).stdout).toContain("1 peel: 1 ok");
}, 90_000);

test("a request that reached nobody is sent again until masters are back, as after a restart of the bus", async () => {
  const clock = manualClock();
  const operator = await connectTo(bus, "admin");
  const requesting = request({ ...operator, clock }, jobOperations.listJobs, { limit: 1 });
  await clock.asleep();
  await using _ = await startMaster(bus);
  expect((await clock.until(requesting, 500)).jobs).toHaveLength(1);
  await operator.drain();
});
