import { rfc3339 } from "../../base/clock.ts";
import { parseDuration } from "../../base/duration.ts";
import type { RolloutView } from "../../fleet/rollout/mod.ts";

type Waiting = Pick<
  RolloutView,
  "id" | "status" | "step" | "timeout" | "wave_wait" | "waves" | "wave" | "check"
>;

/** What a rollout waits for, until when, and which command shows more; `undefined` where it continues at once. */
export function waitsFor({ id, status, step, timeout, wave_wait, waves, wave, check }: Waiting) {
  if (status === "paused") return `svc rollout resume ${id}`;
  if (status !== "running") return undefined;
  const { jid, check_jid: checkJid, begun_at: begunAt, ended_at: endedAt } = waves[wave - 1] ?? {};
  switch (step) {
    case "waiting":
      return `the job of the wave, ${untilAfter(begunAt, timeout)}: svc job show ${jid}`;
    case "checking":
      return `the check of the wave, at most ${check?.timeout}: svc job show ${checkJid}`;
    case "soaking":
      return `the wait after the wave, ${untilAfter(endedAt, wave_wait)}`;
    default:
      return undefined;
  }
}

function untilAfter(begunAt: string | undefined, duration: string): string {
  if (begunAt === undefined) return `at most ${duration}`;
  return `until about ${rfc3339(Date.parse(begunAt) + parseDuration(duration))}`;
}
