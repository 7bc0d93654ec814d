import { defined } from "../../base/defined.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import type { JobView, Progress } from "../../fleet/jobs/mod.ts";
import { type Cli, Exit } from "../../program/command-line/mod.ts";
import { summaryLine } from "./counts.ts";
import { exitCodeOf } from "./exit-code.ts";
import { followJob, type JobFollowing } from "./follow-job.ts";
import { Interrupted, interruptedExit } from "./interrupt.ts";
import { pendingLine } from "./pending.ts";
import { startProgress } from "./progress.ts";
import type { Results } from "./results.ts";
import { createRunning } from "./running.ts";

/**
 * Follows a job to its end, with progress on the terminal.
 *
 * @param signal Ctrl-C: the job continues, and a message says how to watch it again
 * @param following.isKnown whether a master has just said that it exists
 * @param following.until with `due`, to when nobody is waited for but peels that are not connected
 * @throws Exit 130 after Ctrl-C
 */
export async function watchJob(
  bus: Bus,
  results: Results,
  jid: string,
  cli: Cli,
  signal: AbortSignal,
  following: Pick<JobFollowing, "isKnown" | "until"> = {},
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
    return await followJob(bus, jid, { ...following, signal, onProgress, ...defined({ onReturn }) });
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
 * Prints how a job ended, or how far it is when it is due.
 *
 * @param options.ignoreOffline peels that are not connected do not matter
 * @throws Exit 1 when a target did not end well, 3 when all that answered did and others are pending
 */
export async function printEnd(
  results: Results,
  view: JobView,
  cli: Cli,
  options: { ignoreOffline?: boolean } = {},
): Promise<void> {
  await results.print(view);
  cli.say(summaryLine(view.counts));
  const pending = pendingLine(view, cli.clock.now());
  if (pending !== undefined) cli.say(pending);
  const code = exitCodeOf(view.counts, options);
  if (code !== 0) throw new Exit(code);
}
