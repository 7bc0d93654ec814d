import { sleep } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import { followFeed } from "../../doors/bus/mod.ts";
import type { Progress } from "../../fleet/jobs/mod.ts";
import { type RolloutView, rolloutOperations, type WaveCounts } from "../../fleet/rollout/mod.ts";
import { type Cli, Exit } from "../../program/command-line/mod.ts";
import { countWords, peelCount } from "../job/counts.ts";
import { followJob } from "../job/follow-job.ts";
import { Interrupted, interruptedExit } from "../job/interrupt.ts";
import { startProgress } from "../job/progress.ts";
import { request, requesterName } from "../request.ts";

/** How long a rollout is followed again after its master was lost. */
const patienceMs = 60_000;
const pauseMs = 250;

/**
 * Follows a rollout to its end: a line for each step, and on a terminal the progress of the current job.
 *
 * @param signal Ctrl-C: the rollout continues, and a message says how to watch it again
 * @throws SvcError `not_found`
 * @throws Exit 130 after Ctrl-C
 */
export async function watchRollout(
  bus: Bus,
  id: string,
  cli: Cli,
  signal: AbortSignal,
): Promise<RolloutView> {
  const { view: begun } = await request(bus, rolloutOperations.getRollout, { id });
  const sizes = begun.waves.map(({ peels }) => peels.length);
  const said = new Set<string>();
  let held: string | undefined;
  let following: { jid: string; stop: AbortController } | undefined;
  const follow = (jid: string | undefined) => {
    if (following?.jid === jid) return;
    following?.stop.abort(new Error("the rollout continued"));
    following = jid === undefined ? undefined : { jid, stop: new AbortController() };
    if (following !== undefined) showProgress(bus, following.jid, cli, following.stop.signal);
  };
  const onChange = (rollout: RolloutView) => {
    const requested = heldOf(rollout);
    // Several steps may have passed since the last read, and each is reported.
    const news = linesOf(rollout, sizes).filter((line) => !said.has(line));
    if (requested !== undefined && requested !== held) news.push(requested);
    held = requested;
    if (news.length > 0) follow(undefined);
    for (const line of news) {
      said.add(line);
      cli.say(line);
    }
    follow(runningJobOf(rollout));
  };
  try {
    await untilEnded(bus, id, onChange, signal);
    follow(undefined);
    return (await request(bus, rolloutOperations.getRollout, { id })).view;
  } catch (thrown) {
    follow(undefined);
    if (!(thrown instanceof Interrupted)) throw thrown;
    cli.say(`${id} continues to run: watch it with svc rollout watch ${id}`);
    cli.say(`hold it with svc rollout pause ${id}, end it with svc rollout abort ${id}`);
    throw new Exit(interruptedExit);
  }
}

/** Follows it through the masters; where one is lost, another one begins with the current state. */
async function untilEnded(
  bus: Bus,
  id: string,
  onChange: (rollout: RolloutView) => void,
  signal: AbortSignal,
): Promise<void> {
  let receivedAt = bus.clock.monotonic();
  for (;;) {
    try {
      for await (const { data } of followFeed(bus, rolloutOperations.streamRollout, { id }, signal, {
        operator: requesterName(bus),
      })) {
        receivedAt = bus.clock.monotonic();
        const rollout = data as RolloutView;
        onChange(rollout);
        if (rollout.finished_at !== undefined) return;
      }
      throw new SvcError("unavailable", "the rollout was not followed to its end: check the masters");
    } catch (thrown) {
      const mayPass = thrown instanceof SvcError && thrown.kind === "unavailable";
      if (!mayPass || bus.clock.monotonic() - receivedAt > patienceMs) throw thrown;
      await sleep(bus.clock, pauseMs, signal);
    }
  }
}

/** The job that the current wave waits for. */
function runningJobOf({ step, waves, finished_at }: RolloutView): string | undefined {
  if (finished_at !== undefined) return undefined;
  const wave = waves.findLast(({ jid }) => jid !== undefined);
  return step === "waiting" ? wave?.jid : step === "checking" ? wave?.check_jid : undefined;
}

/** Shows how far a job is; the rollout reports its failures. */
function showProgress(bus: Bus, jid: string, cli: Cli, signal: AbortSignal): void {
  if (cli.stderr.isTTY !== true) return;
  const progress = startProgress(cli.stderr, cli.clock, cli.env);
  signal.addEventListener("abort", () => progress.end(), { once: true });
  const onProgress = ({ counts }: Progress) => {
    if (!signal.aborted) progress.update(counts);
  };
  followJob(bus, jid, { onProgress, signal, onReturn: () => {} })
    .catch(() => {})
    .finally(() => progress.end());
}

/**
 * Everything to report about the waves of a rollout so far, in order, one line each.
 *
 * @param sizes how many peels each wave has in the frozen list
 */
function linesOf({ step, waves: planned }: RolloutView, sizes: readonly number[]): string[] {
  const waves = planned.filter(({ jid }) => jid !== undefined);
  return waves.flatMap(({ jid, counts, gone = 0, check_jid, check_counts }, i) => {
    const name = `wave ${i + 1}/${planned.length}`;
    const peels = (sizes[i] ?? 0) - gone;
    const isOver = i + 1 < waves.length;
    const isMade = isOver || step !== "dispatching";
    const isChecked = check_jid !== undefined && (isOver || step !== "asking");
    return [
      ...(isMade ? [`${name}: ${jid} on ${peelCount(peels)}`] : []),
      ...(counts === undefined ? [] : [`${name}: ${wordsOf(counts)}`]),
      ...(isChecked ? [`${name}: check ${check_jid}`] : []),
      ...(check_counts === undefined ? [] : [`${name}: check ${wordsOf(check_counts)}`]),
    ];
  });
}

function wordsOf(counts: WaveCounts): string {
  return countWords(counts).join(", ") || "nobody left";
}

/** What an operator asked of it, and has not come about or been taken back. */
function heldOf({
  id,
  abort_asked_by,
  paused_by,
  paused_because,
  finished_at,
}: RolloutView): string | undefined {
  if (finished_at !== undefined) return undefined;
  if (abort_asked_by !== undefined) return `${id} is being aborted by ${abort_asked_by}`;
  if (paused_because !== undefined)
    return `${id} is paused: ${paused_because}; continue with svc rollout resume`;
  return paused_by === undefined ? undefined : `${id} is paused by ${paused_by}: no other wave begins`;
}
