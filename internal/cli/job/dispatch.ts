import type { Bus } from "../../bus/mod.ts";
import type { JobRequest } from "../../fleet/jobs/mod.ts";
import { jobsOverBus } from "../../fleet/over-bus/mod.ts";
import { readCall } from "../../host/modules/mod.ts";
import type { Cli, RestWords } from "../../program/command-line/mod.ts";
import { ask } from "../ask.ts";
import { withBus } from "../operator.ts";
import { type BatchSize, batchesOf } from "./batch.ts";
import { runBatches } from "./batches.ts";
import { type Dispatched, jobSize } from "./counts.ts";
import { printEnd, watchJob } from "./follow.ts";
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
      return printPreview(await resolvePeels(bus, request.target), request.batch, cli);
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
  return ask(bus, jobsOverBus.create, request);
}
