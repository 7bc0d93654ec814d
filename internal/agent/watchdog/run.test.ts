import { describe, expect, test } from "bun:test";
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { type Behavior, watchdogScene } from "../../../test/harness/watchdog.ts";
import { identityOf } from "../../base/process/process-stat.ts";

/** The process id of the peel with this label that said last that it runs. */
function pidOf(output: string, label: string): number {
  const found = [...output.matchAll(new RegExp(`^peel ${label} (\\d+) runs$`, "gm"))].at(-1);
  return Number(found?.[1]);
}

function count(output: string, text: string): number {
  return output.split(text).length - 1;
}

describe("a peel under a watchdog", () => {
  test("is started again when it is killed", async () => {
    await using scene = await watchdogScene();
    const watchdog = await scene.start();
    const first = pidOf(watchdog.output(), "packaged");
    process.kill(first, "SIGKILL");
    await watchdog.waitFor(/runs\n[\s\S]*"end":"SIGKILL"[\s\S]*"restarts":1[\s\S]*runs$/m);
    expect(pidOf(watchdog.output(), "packaged")).not.toBe(first);
  });

  test("is started again when it is frozen", async () => {
    await using scene = await watchdogScene();
    const watchdog = await scene.start({ answerMs: 100, healthEveryMs: 200, healthTries: 10 });
    const first = pidOf(watchdog.output(), "packaged");
    process.kill(first, "SIGSTOP");
    const next = `does not answer; killing it","pid":${first},[\\s\\S]*peel packaged \\d+ runs$`;
    await watchdog.waitFor(new RegExp(next, "m"));
    expect(pidOf(watchdog.output(), "packaged")).not.toBe(first);
  });

  test("that ends at once is started again with longer and longer pauses", async () => {
    await using scene = await watchdogScene("crash");
    const watchdog = scene.launch({ firstPauseMs: 8, maxPauseMs: 20 });
    await watchdog.waitFor(/"restarts":4/);
    const pauses = [...watchdog.output().matchAll(/"in_ms":(\d+)/g)].map(([, ms]) => Number(ms));
    expect(pauses.slice(0, 4)).toEqual([4, 8, 10, 10]);
  });

  test("ends with its watchdog", async () => {
    await using scene = await watchdogScene();
    const watchdog = await scene.start();
    watchdog.kill("SIGTERM");
    expect(await watchdog.exited).toBe(0);
    expect(await scene.request("/healthz")).toBeUndefined();
  });

  test("that ignores SIGTERM is killed with its watchdog", async () => {
    await using scene = await watchdogScene("hang");
    const watchdog = await scene.start({ stopMs: 50 });
    const pid = pidOf(watchdog.output(), "packaged");
    watchdog.kill("SIGTERM");
    expect(await watchdog.exited).toBe(0);
    expect(identityOf(pid)).toBeUndefined();
  });

  test("that a killed watchdog left behind is ended by the next one, which starts its own", async () => {
    await using scene = await watchdogScene();
    const first = await scene.start();
    const orphan = pidOf(first.output(), "packaged");
    process.kill(first.pid, "SIGKILL");
    // Its peel holds the pipe of its output: only the process itself has gone.
    const second = await scene.start();
    expect(second.output()).toContain(`"pid":${orphan}`);
    expect(identityOf(orphan)).toBeUndefined();
    expect(await scene.request("/healthz")).toBe(200);
  });

  test("is not run twice: a second watchdog is refused", async () => {
    await using scene = await watchdogScene();
    const first = await scene.start();
    const second = scene.launch();
    expect(await second.exited).not.toBe(0);
    expect(second.output()).toContain(`the watchdog with the process id ${first.pid} runs a peel`);
    expect(await scene.request("/healthz")).toBe(200);
  });
});

describe("an upgrade", () => {
  test("to a binary that becomes ready is committed, and outlives the watchdog", async () => {
    await using scene = await watchdogScene();
    const watchdog = await scene.start();
    const sha256 = scene.stage("good");
    await watchdog.waitFor("upgrade committed");
    expect(scene.files.state()).toMatchObject({
      current: { sha256, version: "2.0.0" },
      outcome: {
        jid: "job-1",
        success: true,
        version: "2.0.0",
        from: "1.0.0",
        rolledBack: false,
        reason: "",
      },
    });
    expect(scene.files.state().trial).toBeUndefined();
    expect(scene.files.request()).toBeUndefined();
    watchdog.kill("SIGTERM");
    await watchdog.exited;
    const next = await scene.start();
    expect(next.output()).toMatch(/^peel good \d+ runs$/m);
  });

  test.each<[Behavior, RegExp]>([
    ["crash", /^it exited 3 times, the last time with code 7$/],
    ["ready-then-crash", /^it exited 3 times after it was ready, the last time with code 3$/],
    ["unready", /^it did not become ready in 2s: bus: not connected$/],
    ["hang", /^it did not become ready in 300ms: it does not respond$/],
    ["no-program", /^it cannot start: /],
  ])("to a binary that is %s is rolled back by itself, with the reason", async (behavior, reason) => {
    await using scene = await watchdogScene();
    // Only what never becomes ready runs into the times: the others end long before, also on a busy machine. What is
    // not ready has to answer before its time is over.
    const short: Partial<Record<Behavior, number>> = { unready: 2_000, hang: 300 };
    const readyWithinMs = short[behavior] ?? 20_000;
    const watchdog = await scene.start({ answerMs: behavior === "hang" ? 100 : 20_000, stopMs: 100 });
    scene.stage(behavior, { readyWithinMs });
    await watchdog.waitFor(/upgrade rolled back[\s\S]*peel packaged \d+ runs$/m);
    const { outcome, current, trial } = scene.files.state();
    expect(outcome).toMatchObject({ jid: "job-1", success: false, rolledBack: true });
    expect(outcome?.reason).toMatch(reason);
    expect([current, trial]).toEqual([undefined, undefined]);
    await watchdog.waitFor(/rolled back[\s\S]*peel packaged/);
    expect(count(watchdog.output(), "upgrade rolled back")).toBe(1);
  });

  test("goes back to the binary of the upgrade before, not to the packaged one", async () => {
    await using scene = await watchdogScene();
    const watchdog = await scene.start();
    const sha256 = scene.stage("good");
    await watchdog.waitFor("upgrade committed");
    scene.stage("crash", { jid: "job-2" });
    await watchdog.waitFor(/upgrade rolled back[\s\S]*peel good \d+ runs$/m);
    expect(scene.files.state()).toMatchObject({
      current: { sha256 },
      outcome: { jid: "job-2", success: false },
    });
  });

  test("is refused when the staged bytes changed, and the peel keeps running", async () => {
    await using scene = await watchdogScene();
    const watchdog = await scene.start();
    const first = pidOf(watchdog.output(), "packaged");
    const sha256 = scene.place("good");
    writeFileSync(scene.files.binary(sha256), "#!/bin/false\n");
    scene.files.writeRequest({
      jid: "job-1",
      sha256,
      version: "2",
      from: "1",
      readyWithinMs: 1_000,
      deadline: Date.UTC(2100, 0),
    });
    await watchdog.waitFor("upgrade refused");
    expect(scene.files.state().outcome).toMatchObject({
      success: false,
      rolledBack: false,
      reason: "the staged binary has changed since it was staged",
    });
    expect(pidOf(watchdog.output(), "packaged")).toBe(first);
    expect(await scene.request("/healthz")).toBe(200);
  });

  test("is refused after its deadline", async () => {
    await using scene = await watchdogScene();
    const watchdog = await scene.start();
    scene.stage("good", { deadline: Date.UTC(2020, 0) });
    await watchdog.waitFor("upgrade refused");
    expect(scene.files.state().outcome?.reason).toContain("deadline");
    expect(scene.files.request()).toBeUndefined();
  });

  test("whose binary is gone later gives way to the packaged one", async () => {
    await using scene = await watchdogScene();
    const watchdog = await scene.start();
    const sha256 = scene.stage("good");
    await watchdog.waitFor("upgrade committed");
    expect(scene.files.state().current?.sha256).toBe(sha256);
    watchdog.kill("SIGTERM");
    await watchdog.exited;
    rmSync(scene.files.binary(sha256));
    const next = await scene.start();
    expect(next.output()).toMatch(/^peel packaged \d+ runs$/m);
    expect(next.output()).toContain("gone or damaged");
    expect(scene.files.state().current).toBeUndefined();
  });

  test("gives way to a package that is installed afterwards", async () => {
    await using scene = await watchdogScene();
    const watchdog = await scene.start();
    scene.stage("good");
    await watchdog.waitFor("upgrade committed");
    watchdog.kill("SIGTERM");
    await watchdog.exited;
    scene.install("good", "renewed");
    const next = await scene.start();
    expect(next.output()).toMatch(/^peel renewed \d+ runs$/m);
    expect(scene.files.state().current).toBeUndefined();
    expect(scene.files.state().outcome?.success).toBe(true);
  });
});

describe("a watchdog that is killed during an upgrade", () => {
  test.each([
    ["when it has begun", "good", /upgrade begins/],
    ["when the binary was started", "good", /upgrade begins[\s\S]*started by the watchdog/],
    ["when the binary runs", "good", /^peel good \d+ runs$/m],
    ["when the binary never becomes ready", "unready", /^peel unready \d+ runs$/m],
    ["when the binary ended", "crash", /upgrade begins[\s\S]*"end":"code 7"/],
  ] as const)("%s leaves an upgrade that the next one rolls back", async (_, behavior, moment) => {
    await using scene = await watchdogScene();
    const watchdog = await scene.start({ settleMs: 60_000, trialStarts: 1_000 });
    scene.stage(behavior, { readyWithinMs: 60_000 });
    await watchdog.waitFor(moment);
    process.kill(watchdog.pid, "SIGKILL");
    const next = await scene.start();
    expect(next.output()).toMatch(/an upgrade was not decided[\s\S]*peel packaged \d+ runs$/m);
    expect(scene.files.state()).toMatchObject({
      outcome: {
        jid: "job-1",
        success: false,
        rolledBack: true,
        reason: "the watchdog or the host stopped during the trial",
      },
    });
    expect(scene.files.request()).toBeUndefined();
    expect(await scene.request("/readyz")).toBe(200);
  });

  test("when it was committed leaves the new binary", async () => {
    await using scene = await watchdogScene();
    const watchdog = await scene.start();
    scene.stage("good");
    await watchdog.waitFor("upgrade committed");
    process.kill(watchdog.pid, "SIGKILL");
    const next = await scene.start();
    expect(next.output()).toMatch(/^peel good \d+ runs$/m);
    expect(scene.files.state().outcome?.success).toBe(true);
  });

  test("before it took the request up leaves one that the next one takes up", async () => {
    await using scene = await watchdogScene();
    scene.stage("good");
    const watchdog = await scene.start();
    await watchdog.waitFor("upgrade committed");
    expect(existsSync(scene.files.dir)).toBe(true);
  });

  test("between noting the request and removing it leaves one upgrade, not two", async () => {
    await using scene = await watchdogScene();
    scene.stage("good");
    const staged = scene.files.request();
    if (staged === undefined) throw new Error("nothing is staged");
    scene.files.writeState({ trial: staged });
    const watchdog = await scene.start();
    expect(scene.files.request()).toBeUndefined();
    expect(watchdog.output()).toMatch(/^peel packaged \d+ runs$/m);
    expect(scene.files.state().outcome).toMatchObject({ jid: "job-1", rolledBack: true });
  });
});
