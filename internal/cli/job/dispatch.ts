import { SvcError } from "../../base/errors.ts";
import type { Bus } from "../../bus/mod.ts";
import type { JobRequest } from "../../fleet/jobs/mod.ts";
import { jobsOverBus } from "../../fleet/over-bus/mod.ts";
import { readCall } from "../../host/modules/mod.ts";
import { type Cli, Exit, type RestWords } from "../../program/command-line/mod.ts";
import { ask } from "../ask.ts";
import { withBus } from "../operator.ts";
import { approvalsFor, sayWhether } from "../roles/ask.ts";
import { type BatchSize, batchesOf } from "./batch.ts";
import { runBatches } from "./batches.ts";
import { type Dispatched, jobSize } from "./counts.ts";
import { printEnd, watchJob } from "./follow.ts";
import { askFrozen } from "./frozen.ts";
import { untilInterrupted } from "./interrupt.ts";
import { printPreview } from "./preview.ts";
import { resolvePeels } from "./resolve.ts";
import { openJobs } from "./storage.ts";

export interface RunRequest {
  target: string;
  function: string;
  /** What stands behind the function on the command line. */
  words: RestWords;
  /** A duration: `60s`. */
  timeout: string;
  batch?: BatchSize;
  batchWaitMs: number;
  mode: "follow" | "async" | "preview";
}

/**
 * Dispatches a job, or one per batch, and prints what became of it.
 *
 * @throws SvcError `usage` for a function or arguments that do not exist, what the masters answer, or
 *   `unavailable` when none does
 * @throws Exit 1 when not every peel ended well, 130 after Ctrl-C
 */
export async function runJob(request: RunRequest, cli: Cli): Promise<void> {
  const call = { ...readCall(request.function, request.words), timeout: request.timeout };
  if (/^(?:settings|pillar)\.(?:items|get)$/.test(request.function)) {
    cli.say(
      `jobs return *** for the values of settings: see them on the host with svc-peel call ${request.function}`,
    );
  }
  await withBus(cli, async (bus) => {
    if (request.mode === "preview") {
      await printPreview(await resolvePeels(bus, request.target), request.batch, cli);
      const asked = { kind: "jobs", action: "run", target: request.target, function: call.function };
      if ((await sayWhether(bus, asked, cli)) === false) throw new Exit(1);
      return;
    }
    if (request.mode === "async") {
      const job = await dispatch(bus, { ...call, target: request.target });
      await cli.print({ jid: job.jid, targets: job.targets, status: "running" }, () => job.jid);
      return cli.say(`${jobSize(job)}; watch with svc job watch ${job.jid}`);
    }
    const deps = await openJobs(bus, cli);
    if (request.batch === undefined) {
      const job = await dispatch(bus, { ...call, target: request.target });
      cli.say(`${job.jid} on ${jobSize(job)}`);
      return printEnd(await untilInterrupted(cli, (signal) => watchJob(deps, job.jid, cli, signal)), cli);
    }
    const work = { kind: "jobs", action: "run", target: request.target, function: call.function };
    if ((await approvalsFor(bus, work)) > 0) {
      throw new SvcError(
        "usage",
        "--batch: each batch is a request of its own, and your role needs the agreement of others for each: use svc rollout start, which waits once",
      );
    }
    const peels = (await resolvePeels(bus, request.target)).map(({ peel_id }) => peel_id);
    await runBatches(
      {
        dispatch: (targets, batch) => dispatch(bus, { ...call, targets, metadata: { batch } }),
        watch: (jid, signal) => watchJob(deps, jid, cli, signal),
      },
      { batches: batchesOf(peels, request.batch), waitMs: request.batchWaitMs },
      cli,
    );
  });
}

function dispatch(bus: Bus, request: JobRequest): Promise<Dispatched> {
  const question = { kind: "jobs", action: "run", function: request.function };
  return askFrozen(bus, request, question, (frozen) => ask(bus, jobsOverBus.create, frozen));
}
