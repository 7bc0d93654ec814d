import { sleep } from "../../base/clock.ts";
import type { JobView } from "../../fleet/jobs/mod.ts";
import { type Cli, Exit } from "../../program/command-line/mod.ts";
import { addCounts, type Dispatched, jobSize, peelCount, summaryLine } from "./counts.ts";
import { exitCodeOf } from "./exit-code.ts";
import { Interrupted, interruptedExit, untilInterrupted } from "./interrupt.ts";
import { pendingLine } from "./pending.ts";
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
  /** Peels that are not connected do not change the exit code. */
  ignoreOffline?: boolean;
}

/**
 * Runs one job after the other. A table, or a line for each answer, is written as each ends; as other data they are
 * one list in the end, also when it came early. Ctrl-C starts no other batch.
 *
 * @throws Exit 1 when a peel did not end well, 3 when all that answered did and others are pending, 130 after Ctrl-C
 * @throws SvcError what a master answered
 */
export async function runBatches(
  { dispatch, watch, results }: BatchRunner,
  { batches, waitMs, ignoreOffline = false }: BatchPlan,
  cli: Cli,
): Promise<void> {
  const ended: JobView[] = [];
  const allCounts = () => addCounts(ended.map(({ counts }) => counts));
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
        const pending = pendingLine(view, cli.clock.now());
        if (pending !== undefined) cli.say(pending);
      }
    });
  } catch (thrown) {
    const left = batches.slice(started).flat().length;
    if (left > 0) cli.say(`no other batch is started: ${peelCount(left)} left out`);
    throw thrown instanceof Interrupted ? new Exit(interruptedExit) : thrown;
  } finally {
    await results.printAll(ended);
    if (ended.length > 0) cli.say(summaryLine(allCounts()));
  }
  const code = exitCodeOf(allCounts(), { ignoreOffline });
  if (code !== 0) throw new Exit(code);
}
