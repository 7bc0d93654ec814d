import { followJob, type Progress as JobProgress } from "../../jobs/follow.ts";
import { jobOfStep } from "../../rollout/decide.ts";
import { followRollout } from "../../rollout/follow.ts";
import type { Rollout, Wave } from "../../rollout/record.ts";
import { loadTargets, type RolloutView, viewOfRollout } from "../../rollout/show.ts";
import { type Cli, Exit } from "../command.ts";
import { countWords, peelCount } from "../job/counts.ts";
import { Interrupted, interruptedExit } from "../job/interrupt.ts";
import { startProgress } from "../job/progress.ts";
import type { RolloutDeps } from "./storage.ts";

/**
 * Follows a rollout to its end: a line for each step, and on a terminal the progress of the job it is at.
 *
 * @param signal Ctrl-C: the rollout goes on, and the operator is told how to get back to it
 * @throws SvcError `not_found`
 * @throws Exit 130 after Ctrl-C
 */
export async function watchRollout(
  deps: RolloutDeps,
  id: string,
  cli: Cli,
  signal: AbortSignal,
): Promise<RolloutView> {
  let said: string | undefined;
  let following: { jid: string; stop: AbortController } | undefined;
  const follow = (jid: string | undefined) => {
    if (following?.jid === jid) return;
    following?.stop.abort(new Error("the rollout went on"));
    following = jid === undefined ? undefined : { jid, stop: new AbortController() };
    if (following !== undefined) showProgress(deps, following.jid, cli, following.stop.signal);
  };
  const onChange = (rollout: Rollout) => {
    const line = lineOf(rollout);
    const isAtJob = rollout.step === "waiting" || rollout.step === "checking";
    if (line !== said) follow(undefined);
    if (line !== undefined && line !== said) cli.say(line);
    said = line ?? said;
    follow(isAtJob && rollout.finishedAt === undefined ? jobOfStep(rollout)?.jid : undefined);
  };
  try {
    const end = await followRollout(deps, id, onChange, signal);
    follow(undefined);
    return viewOfRollout(end, await loadTargets(deps.rollouts, id));
  } catch (thrown) {
    follow(undefined);
    if (!(thrown instanceof Interrupted)) throw thrown;
    cli.say(`${id} goes on without you: watch it with svc rollout watch ${id}`);
    cli.say(`hold it with svc rollout pause ${id}, end it with svc rollout abort ${id}`);
    throw new Exit(interruptedExit);
  }
}

/** Shows how far a job is; what goes wrong with it is told by the rollout. */
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

/** What is worth a line of its own; `undefined` for what is only on the way. */
function lineOf(rollout: Rollout): string | undefined {
  const { step, waves, plan, status, abort, pause, finishedAt } = rollout;
  if (finishedAt !== undefined) return undefined;
  const wave = waves.at(-1);
  const name = `wave ${waves.length}/${plan.bounds.length}`;
  const held = pause === undefined ? "" : `; paused by ${pause.by}`;
  if (abort !== undefined) return `${rollout.id} is being aborted by ${abort.by}`;
  if (wave === undefined) return status === "paused" ? `before the first wave${held}` : undefined;
  switch (step) {
    case "waiting":
      return `${name}: ${wave.job.jid} on ${peelCount(sizeOf(rollout) - wave.gone)}${held}`;
    case "checking":
      return `${name}: check ${wave.check?.jid}${held}`;
    case "soaking":
      return `${name}: ${resultOf(wave)}${held}`;
    case "ready":
      return held === "" ? undefined : `${name}: ${resultOf(wave)}${held}`;
    default:
      return undefined;
  }
}

function sizeOf({ plan: { bounds }, waves }: Rollout): number {
  return (bounds[waves.length - 1] ?? 0) - (bounds[waves.length - 2] ?? 0);
}

function resultOf({ job, check }: Wave): string {
  const counts = check?.counts ?? job.counts ?? {};
  return countWords(counts).join(", ") || "nobody left";
}
