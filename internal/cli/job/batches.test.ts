import { describe, expect, test } from "bun:test";
import { type ManualClock, manualClock, settle } from "../../../test/harness/clock.ts";
import { SvcError } from "../../base/errors.ts";
import { systemRandom } from "../../base/id.ts";
import { createMessages } from "../../base/messages.ts";
import { untraced } from "../../base/trace.ts";
import type { Outcome } from "../../fleet/jobs/records/outcome.ts";
import type { JobView } from "../../fleet/jobs/show.ts";
import { type Cli, Exit } from "../../program/command-line/command.ts";
import { formatResult, type OutputFormat } from "../../program/command-line/print.ts";
import { type BatchPlan, type BatchRunner, runBatches } from "./batches.ts";
import { createResults } from "./results.ts";

/** What a command sees, and what it wrote. */
function stage(output: OutputFormat = "table") {
  const written = { stdout: "", stderr: "" };
  const clock: ManualClock = manualClock();
  const listeners = new Set<() => void>();
  const capture = (name: "stdout" | "stderr") => ({
    write: (text: string) => {
      written[name] += text;
    },
  });
  const stderr = capture("stderr");
  const cli: Cli = {
    ...createMessages({ name: "svc", write: stderr.write }),
    env: {},
    hostname: "h",
    stdout: capture("stdout"),
    stderr,
    signals: { on: (_, run) => listeners.add(run), off: (_, run) => listeners.delete(run) },
    clock,
    random: systemRandom,
    ...{
      color: false,
      wide: false,
      connectTimeoutMs: 10_000,
      noteHidden() {},
      span: async () => untraced.begin(""),
    },
    output,
    print: async (data, text) => {
      written.stdout += await formatResult(output, data, text);
    },
  };
  return { cli, clock, written, ctrlC: () => [...listeners].forEach((run) => void run()), listeners };
}

const viewOf = (jid: string, targets: string[], outcome: Outcome): JobView => ({
  jid,
  function: "test.ping",
  args: {},
  targets,
  metadata: {},
  timeout: "60s",
  status: outcome === "ok" ? "completed" : "failed",
  complete: true,
  created_at: "",
  created_by: "",
  deadline: "",
  outcomes: Object.fromEntries(targets.map((peel) => [peel, outcome])),
  counts: { [outcome]: targets.length },
  returns: {},
});

type Jobs = Omit<BatchRunner, "results">;

/** Jobs named by their number, that end at once with an outcome each. */
function runner(outcomes: Outcome[] = []): Jobs & { log: string[] } {
  const jobs = new Map<string, string[]>();
  const log: string[] = [];
  return {
    log,
    async dispatch(targets, batch) {
      const jid = `job-${jobs.size + 1}`;
      jobs.set(jid, targets);
      log.push(`${batch} ${targets.join(" ")}`);
      return { jid, targets, away: 0 };
    },
    watch: async (jid) => viewOf(jid, jobs.get(jid) ?? [], outcomes[jobs.size - 1] ?? "ok"),
  };
}

function run(jobs: Jobs, plan: BatchPlan, cli: Cli): Promise<void> {
  return runBatches({ ...jobs, results: createResults(cli) }, plan, cli);
}

const batches = [["a", "b"], ["c", "d"], ["e"]];

describe("batches", () => {
  test("run one after the other, each after the pause, and are summed up", async () => {
    const { cli, clock, written, listeners } = stage();
    const jobs = runner();
    const running = run(jobs, { batches, waitMs: 5_000 }, cli);
    await settle();
    expect(jobs.log).toEqual(["1/3 a b"]);
    clock.advance(4_999);
    await settle();
    expect(jobs.log).toHaveLength(1);
    clock.advance(1);
    await settle();
    expect(jobs.log).toHaveLength(2);
    clock.advance(5_000);
    await running;
    expect(jobs.log).toEqual(["1/3 a b", "2/3 c d", "3/3 e"]);
    expect(written.stderr).toBe(
      "batch 1/3: job-1 on 2 peels\nbatch 2/3: job-2 on 2 peels\nbatch 3/3: job-3 on 1 peel\n5 peels: 5 ok\n",
    );
    expect(written.stdout.match(/PEEL ID/g)).toHaveLength(3);
    expect(clock.pending).toBe(0);
    expect(listeners.size).toBe(0);
  });

  test("that did not end well do not stop the next, and exit with 1", async () => {
    const { cli, clock, written } = stage("json");
    const running = run(runner(["ok", "failed"]), { batches, waitMs: 0 }, cli).catch((thrown) => thrown);
    expect(await clock.until(running, 60_000)).toEqual(new Exit(1));
    expect(JSON.parse(written.stdout).map(({ status }: JobView) => status)).toEqual([
      "completed",
      "failed",
      "completed",
    ]);
    expect(written.stderr).toEndWith("5 peels: 3 ok, 2 failed\n");
  });

  test("Ctrl-C in the pause starts no other, and what ended is printed", async () => {
    const { cli, clock, written, ctrlC, listeners } = stage("json");
    const jobs = runner();
    const running = run(jobs, { batches, waitMs: 60_000 }, cli);
    await settle();
    ctrlC();
    expect(await running.catch((thrown) => thrown)).toEqual(new Exit(130));
    expect(jobs.log).toHaveLength(1);
    expect(JSON.parse(written.stdout)).toHaveLength(1);
    expect(written.stderr).toContain("no other batch is started: 3 peels left out\n2 peels: 2 ok\n");
    expect([clock.pending, listeners.size]).toEqual([0, 0]);
  });

  test("Ctrl-C during a batch is passed to its follower, and a second one is not caught", async () => {
    const { cli, written, ctrlC, listeners } = stage();
    const jobs = runner();
    const running = run(
      {
        ...jobs,
        watch: (_, signal) =>
          new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Exit(130)))),
      },
      { batches, waitMs: 0 },
      cli,
    );
    await settle();
    expect(listeners.size).toBe(1);
    ctrlC();
    expect(listeners.size).toBe(0);
    expect(await running.catch((thrown) => thrown)).toEqual(new Exit(130));
    expect(written).toEqual({
      stdout: "",
      stderr: "batch 1/3: job-1 on 2 peels\nno other batch is started: 3 peels left out\n",
    });
  });

  test("a master that does not take one ends it, and what was done is not lost", async () => {
    const { cli, clock, written } = stage("json");
    const jobs = runner();
    const dispatch: BatchRunner["dispatch"] = (targets, batch) =>
      batch === "2/3"
        ? Promise.reject(new SvcError("unavailable", "no master is answering"))
        : jobs.dispatch(targets, batch);
    const running = run({ ...jobs, dispatch }, { batches, waitMs: 1 }, cli);
    await settle();
    clock.advance(1);
    await expect(running).rejects.toThrow("no master is answering");
    expect(JSON.parse(written.stdout)).toHaveLength(1);
    expect(written.stderr).toEndWith("no other batch is started: 1 peel left out\n2 peels: 2 ok\n");
  });
});
