import { defined } from "../../base/defined.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import type { JobView, Progress } from "../../fleet/jobs/mod.ts";
import { type Cli, Exit } from "../../program/command-line/mod.ts";
import { summaryLine } from "./counts.ts";
import { followJob } from "./follow-job.ts";
import { Interrupted, interruptedExit } from "./interrupt.ts";
import { startProgress } from "./progress.ts";
import type { Results } from "./results.ts";
import { createRunning } from "./running.ts";

/**
 * Follows a job to its end, with progress on the terminal.
 *
 * @param signal Ctrl-C: the job continues, and a message says how to watch it again
 * @param isKnown whether a master has just said that it exists
 * @throws Exit 130 after Ctrl-C
 */
export async function watchJob(
  bus: Bus,
  results: Results,
  jid: string,
  cli: Cli,
  signal: AbortSignal,
  isKnown = false,
): Promise<JobView> {
  const progress = startProgress(cli.stderr, cli.clock, cli.env);
  const running = createRunning();
  const onProgress = (news: Progress) => {
    running.take(news);
    results.take(jid, news);
    if (results.live !== undefined) progress.write(results.live.take(news, news.targets));
    progress.update(news.counts, running.note());
  };
  try {
    const { onReturn } = results;
    return await followJob(bus, jid, { signal, onProgress, isKnown, ...defined({ onReturn }) });
  } catch (thrown) {
    if (!(thrown instanceof Interrupted)) throw thrown;
    progress.end();
    cli.say(`${jid} continues to run: watch it with svc job watch ${jid}`);
    cli.say(`end it with svc job cancel ${jid}`);
    throw new Exit(interruptedExit);
  } finally {
    progress.end();
  }
}

/**
 * Prints how a job ended.
 *
 * @throws Exit 1 when not every target ended well
 */
export async function printEnd(results: Results, view: JobView, cli: Cli): Promise<void> {
  await results.print(view);
  cli.say(summaryLine(view.counts));
  if (view.status !== "completed") throw new Exit(1);
}
