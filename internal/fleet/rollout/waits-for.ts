import { rfc3339 } from "../../base/clock.ts";
import { formatDuration } from "../../base/duration.ts";
import type { Rollout } from "./record.ts";

type Waiting = Pick<Rollout, "id" | "status" | "step" | "waves"> & {
  plan: Pick<Rollout["plan"], "timeoutMs" | "waveWaitMs" | "check">;
};

/** What a rollout waits for, until when, and which command shows more; `undefined` where it continues at once. */
export function waitsFor({ id, status, step, plan, waves }: Waiting): string | undefined {
  if (status === "paused") return `svc rollout resume ${id}`;
  const wave = waves.at(-1);
  if (status !== "running" || wave === undefined) return undefined;
  switch (step) {
    case "waiting":
      return `the job of the wave, ${untilAfter(wave.begunAt, plan.timeoutMs)}: svc job show ${wave.job.jid}`;
    case "checking":
      return `the check of the wave, at most ${formatDuration(plan.check?.timeoutMs ?? 0)}: svc job show ${wave.check?.jid}`;
    case "soaking":
      return `the wait after the wave, ${untilAfter(wave.endedAt, plan.waveWaitMs)}`;
    default:
      return undefined;
  }
}

function untilAfter(begunAt: number | undefined, ms: number): string {
  return begunAt === undefined ? `at most ${formatDuration(ms)}` : `until about ${rfc3339(begunAt + ms)}`;
}
