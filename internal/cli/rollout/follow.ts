import { followJob, type Progress as JobProgress } from "../../fleet/jobs/mod.ts";
import { rolloutDoors } from "../../fleet/rollout/doors.ts";
import {
  followRollout,
  jobOfStep,
  loadTargets,
  type Rollout,
  type RolloutView,
  viewOfRollout,
  type WaveCounts,
} from "../../fleet/rollout/mod.ts";
import { type Cli, Exit } from "../../program/command-line/mod.ts";
import { hinted } from "../hints.ts";
import { countWords, peelCount } from "../job/counts.ts";
import { Interrupted, interruptedExit } from "../job/interrupt.ts";
import { startProgress } from "../job/progress.ts";
import type { RolloutDeps } from "./storage.ts";

/**
 * Follows a rollout to its end: a line for each step, and on a terminal the progress of the current job.
 *
 * @param signal Ctrl-C: the rollout continues, and a message says how to watch it again
 * @throws SvcError `not_found`
 * @throws Exit 130 after Ctrl-C
 */
export async function watchRollout(
  deps: RolloutDeps,
  id: string,
  cli: Cli,
  signal: AbortSignal,
): Promise<RolloutView> {
  const said = new Set<string>();
  let held: string | undefined;
  let following: { jid: string; stop: AbortController } | undefined;
  const follow = (jid: string | undefined) => {
    if (following?.jid === jid) return;
    following?.stop.abort(new Error("the rollout continued"));
    following = jid === undefined ? undefined : { jid, stop: new AbortController() };
    if (following !== undefined) showProgress(deps, following.jid, cli, following.stop.signal);
  };
  const onChange = (rollout: Rollout) => {
    const { step, finishedAt } = rollout;
    const asked = heldOf(rollout);
    // Several steps may have passed since the last read, and each is reported.
    const news = linesOf(rollout).filter((line) => !said.has(line));
    if (asked !== undefined && asked !== held) news.push(asked);
    held = asked;
    if (news.length > 0) follow(undefined);
    for (const line of news) {
      said.add(line);
      cli.say(line);
    }
    const isAtJob = finishedAt === undefined && (step === "waiting" || step === "checking");
    follow(isAtJob ? jobOfStep(rollout)?.jid : undefined);
  };
  try {
    const end = await hinted(rolloutDoors.getRollout.hints.svc, () =>
      followRollout(deps, id, onChange, signal),
    );
    follow(undefined);
    return viewOfRollout(end, await loadTargets(deps.rollouts, id));
  } catch (thrown) {
    follow(undefined);
    if (!(thrown instanceof Interrupted)) throw thrown;
    cli.say(`${id} continues to run: watch it with svc rollout watch ${id}`);
    cli.say(`hold it with svc rollout pause ${id}, end it with svc rollout abort ${id}`);
    throw new Exit(interruptedExit);
  }
}

/** Shows how far a job is; the rollout reports its failures. */
function showProgress(deps: RolloutDeps, jid: string, cli: Cli, signal: AbortSignal): void {
  if (cli.stderr.isTTY !== true) return;
  const progress = startProgress(cli.stderr, cli.clock, cli.env);
  signal.addEventListener("abort", () => progress.end(), { once: true });
  const onProgress = ({ counts }: JobProgress) => {
    if (!signal.aborted) progress.update(counts);
  };
  followJob(deps.jobs, jid, onProgress, { signal })
    .catch(() => {})
    .finally(() => progress.end());
}

/** Everything to report about the waves of a rollout so far, in order, one line each. */
function linesOf({ step, waves, plan: { bounds } }: Rollout): string[] {
  return waves.flatMap(({ job, check, gone }, i) => {
    const name = `wave ${i + 1}/${bounds.length}`;
    const peels = (bounds[i] ?? 0) - (bounds[i - 1] ?? 0) - gone;
    const isOver = i + 1 < waves.length;
    const isMade = isOver || step !== "dispatching";
    const isAsked = check !== undefined && (isOver || step !== "asking");
    return [
      ...(isMade ? [`${name}: ${job.jid} on ${peelCount(peels)}`] : []),
      ...(job.counts === undefined ? [] : [`${name}: ${wordsOf(job.counts)}`]),
      ...(isAsked ? [`${name}: check ${check.jid}`] : []),
      ...(check?.counts === undefined ? [] : [`${name}: check ${wordsOf(check.counts)}`]),
    ];
  });
}

function wordsOf(counts: WaveCounts): string {
  return countWords(counts).join(", ") || "nobody left";
}

/** What an operator asked of it, and has not come about or been taken back. */
function heldOf({ id, abort, pause, finishedAt }: Rollout): string | undefined {
  if (finishedAt !== undefined) return undefined;
  if (abort !== undefined) return `${id} is being aborted by ${abort.by}`;
  return pause === undefined ? undefined : `${id} is paused by ${pause.by}: no other wave begins`;
}
