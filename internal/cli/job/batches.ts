import { sleep } from "../../base/clock.ts";
import type { JobView } from "../../fleet/jobs/mod.ts";
import { type Cli, Exit } from "../../program/command-line/mod.ts";
import { addCounts, type Dispatched, jobSize, peelCount, summaryLine } from "./counts.ts";
import { Interrupted, interruptedExit, untilInterrupted } from "./interrupt.ts";
import type { Results } from "./results.ts";

/** How a batch becomes a job, and how one is followed to its end. */
export interface BatchRunner {
  /** @param batch `2/7` */
  dispatch(targets: string[], batch: string): Promise<Dispatched>;
  /** @throws Exit after Ctrl-C */
  watch(jid: string, signal: AbortSignal): Promise<JobView>;
  results: Pick<Results, "printPart" | "printAll">;
}

export interface BatchPlan {
  /** Encoded peel ids. */
  batches: readonly string[][];
  /** Milliseconds between the end of one and the start of the next. */
  waitMs: number;
}

/**
 * Runs one job after the other. A table, or a line for each answer, is written as each ends; as other data they are
 * one list in the end, also when it came early. Ctrl-C starts no other batch.
 *
 * @throws Exit 1 when not every peel ended well, 130 after Ctrl-C
 * @throws SvcError what a master answered
 */
export async function runBatches(
  { dispatch, watch, results }: BatchRunner,
  { batches, waitMs }: BatchPlan,
  cli: Cli,
): Promise<void> {
  const ended: JobView[] = [];
  let started = 0;
  try {
    await untilInterrupted(cli, async (signal) => {
      for (const batch of batches) {
        if (started > 0) await sleep(cli.clock, waitMs, signal);
        const name = `${++started}/${batches.length}`;
        const job = await dispatch(batch, name);
        cli.say(`batch ${name}: ${job.jid} on ${jobSize(job)}`);
        const view = await watch(job.jid, signal);
        ended.push(view);
        await results.printPart(view);
      }
    });
  } catch (thrown) {
    const left = batches.slice(started).flat().length;
    if (left > 0) cli.say(`no other batch is started: ${peelCount(left)} left out`);
    throw thrown instanceof Interrupted ? new Exit(interruptedExit) : thrown;
  } finally {
    await results.printAll(ended);
    if (ended.length > 0) cli.say(summaryLine(addCounts(ended.map(({ counts }) => counts))));
  }
  if (ended.some(({ status }) => status !== "completed")) throw new Exit(1);
}
