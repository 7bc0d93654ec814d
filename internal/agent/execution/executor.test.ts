import { expect, test } from "bun:test";
import { manualClock, settle } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import type { JobReturn } from "../../wire/return.ts";
import { createExecutor } from "./executor.ts";

const ok: JobReturn = {
  success: true,
  retcode: 0,
  return: "done",
  started_at: "2026-01-01T00:00:00.000Z",
  duration_ms: 1,
};
const failure: JobReturn = { ...ok, success: false, retcode: 9, return: "half", error: "killed" };

/** An executor whose functions end on command of the test. Names that begin with `read` are read-only. */
function executor() {
  const clock = manualClock();
  const log = recordingLog();
  const running = new Map<string, { end: (result?: JobReturn) => void; signal: AbortSignal }>();
  const begun: string[] = [];
  const under = createExecutor({
    isReadOnly: (call) => call.function.startsWith("read"),
    execute(call, signal) {
      begun.push(call.function);
      return new Promise((resolve) => {
        running.set(call.function, { end: (result = ok) => resolve(result), signal });
      });
    },
    clock,
    log,
  });
  const results: Record<string, JobReturn> = {};
  const run = (name: string, more: { deadline?: number; ready?: Promise<unknown> } = {}) => {
    const result = under.run({
      id: name,
      call: { function: name, args: {} },
      origin: { trigger: "job" },
      ...more,
    });
    void result.then((value) => {
      results[name] = value;
    });
    return result;
  };
  const end = async (name: string, result?: JobReturn) => {
    running.get(name)?.end(result);
    await settle();
  };
  return {
    clock,
    log,
    under,
    run,
    end,
    begun,
    results,
    signalOf: (name: string) => running.get(name)?.signal,
  };
}

test("mutating calls run one after another, in order of arrival", async () => {
  const { run, end, begun, results } = executor();
  for (const name of ["a", "b", "c"]) run(name);
  expect(begun).toEqual(["a"]);
  await end("a");
  expect([begun, results]).toEqual([["a", "b"], { a: ok }]);
  await end("b");
  expect(begun).toEqual(["a", "b", "c"]);
});

test("a call that is not ready lets others pass, and keeps its place", async () => {
  const { run, end, begun } = executor();
  const ready = Promise.withResolvers<void>();
  run("first", { ready: ready.promise });
  run("second");
  run("third");
  expect(begun).toEqual(["second"]);
  ready.resolve();
  await settle();
  await end("second");
  expect(begun).toEqual(["second", "first"]);
});

test("the 65th finds the queue full, in the words of the specification", async () => {
  const { run, end, under } = executor();
  for (let i = 0; i < 64; i++) run(`job-${i}`);
  expect([under.full, under.queued]).toEqual([true, 64]);
  expect(await run("one too many")).toMatchObject({
    success: false,
    retcode: 1,
    outcome: "busy",
    error: "peel busy: execution queue full",
  });
  await end("job-0");
  expect(under.full).toBe(false);
});

test("read-only calls bypass the queue, 64 at a time, and are bounded as well", async () => {
  const { run, end, begun, under } = executor();
  for (let i = 0; i < 64; i++) run(`job-${i}`);
  for (let i = 0; i < 64 + 1024; i++) run(`read-${i}`);
  expect(begun).toHaveLength(1 + 64);
  expect(await run("read-more")).toMatchObject({ outcome: "busy", error: "peel busy: execution queue full" });
  await end("read-3");
  expect(begun.at(-1)).toBe("read-64");
  expect(under.queued).toBe(64);
});

test("a queued call does not start after its deadline", async () => {
  const { run, end, begun, clock } = executor();
  run("a");
  const late = run("b", { deadline: clock.now() + 1_000 });
  clock.advance(1_000);
  expect(await late).toMatchObject({
    success: false,
    outcome: "timeout",
    error: expect.stringContaining("never began"),
  });
  await end("a");
  expect(begun).toEqual(["a"]);
  expect(await run("c", { deadline: clock.now() })).toMatchObject({ outcome: "timeout" });
  expect(begun).toEqual(["a"]);
});

test("a running call is stopped at its deadline, and its output is kept", async () => {
  const { run, end, clock, signalOf } = executor();
  const result = run("a", { deadline: clock.now() + 1_000 });
  clock.advance(999);
  expect(signalOf("a")?.aborted).toBe(false);
  clock.advance(1);
  expect(signalOf("a")?.aborted).toBe(true);
  await end("a", failure);
  expect(await result).toEqual({ ...failure, outcome: "timeout", error: "stopped at the deadline" });
  expect(clock.pending).toBe(0);
});

test("a call that completed in spite of the abort counts as completed", async () => {
  const { run, end, clock } = executor();
  const result = run("a", { deadline: clock.now() + 1_000 });
  clock.advance(1_000);
  await end("a");
  expect(await result).toEqual(ok);
});

test("a call that ignores the abort is abandoned, and the next one runs", async () => {
  const { run, end, clock, log, begun, results } = executor();
  run("deaf", { deadline: clock.now() + 1_000 });
  run("next");
  clock.advance(5_999);
  await settle();
  expect(results).toEqual({});
  clock.advance(1);
  await settle();
  expect(results.deaf).toMatchObject({
    outcome: "timeout",
    error: "stopped at the deadline, and did not end",
    duration_ms: 6_000,
  });
  expect(log.records).toMatchObject([{ level: "error", fields: { id: "deaf", function: "deaf" } }]);
  expect(begun).toEqual(["deaf", "next"]);
  await end("deaf");
  await end("next");
  expect(results.next).toEqual(ok);
});

test("cancelling affects only queued and running calls", async () => {
  const { run, end, under, begun, results } = executor();
  run("a");
  run("b");
  run("read");
  expect([under.cancel("b"), under.cancel("b"), under.cancel("unknown")]).toEqual([
    "cancelled",
    "unknown",
    "unknown",
  ]);
  await settle();
  expect(results.b).toMatchObject({ outcome: "cancelled", error: "cancelled before it began" });
  expect([under.cancel("a"), under.cancel("a"), under.cancel("read")]).toEqual([
    "cancelled",
    "stopping",
    "cancelled",
  ]);
  await end("a", failure);
  await end("read", failure);
  expect([results.a, results.read]).toMatchObject([{ outcome: "cancelled" }, { outcome: "cancelled" }]);
  expect(begun).toEqual(["a", "read"]);
  expect(under.cancel("a")).toBe("unknown");
});

test("stopping ends and reports all calls, and starts no more", async () => {
  const { run, end, under, begun, clock, results } = executor();
  run("a");
  run("b");
  const stopped = under.stop();
  await end("a", failure);
  await stopped;
  expect(results).toMatchObject({ a: { outcome: "lost", return: "half" }, b: { outcome: "lost" } });
  expect(await run("c")).toMatchObject({ outcome: "lost" });
  expect([begun, clock.pending]).toEqual([["a"], 0]);
});
