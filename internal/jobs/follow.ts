import { sleep } from "../base/clock.ts";
import { parseJobSubject, returnSubject } from "../bus/subjects.ts";
import { type JobView, type ShowDeps, showJob } from "./show.ts";

/** How long after the deadline a return that was on its way is still waited for. */
const graceMs = 1_000;

/**
 * Follows a job until every target has ended.
 *
 * @param onProgress called with each new count of targets that have ended
 * @returns the job as it stands in the end
 */
export async function followJob(
  deps: ShowDeps,
  jid: string,
  onProgress: (ended: number) => void,
): Promise<JobView> {
  const ended = new Set<string>();
  const finished = Promise.withResolvers<void>();
  let expected = Number.POSITIVE_INFINITY;
  const note = (peel: string) => {
    if (ended.has(peel)) return;
    ended.add(peel);
    onProgress(ended.size);
    if (ended.size >= expected) finished.resolve();
  };
  // Subscribed first and read after: a return between the two is seen twice, never missed.
  const subscription = deps.bus.nats.subscribe(returnSubject(jid, "*"), {
    callback: (error, message) => {
      // An answer that a peel directed here arrives too, but not under the subject of a return.
      const peel = error === null ? parseJobSubject(message.subject)?.peel : undefined;
      if (peel !== undefined) note(peel);
    },
  });
  const done = new AbortController();
  try {
    await deps.bus.nats.flush();
    const view = await showJob(deps, jid);
    expected = view.targets.length;
    for (const peel of Object.keys(view.returns)) note(peel);
    if (view.status === "running" && ended.size < expected) {
      const leftMs = Math.max(0, Date.parse(view.deadline) - deps.clock.now()) + graceMs;
      await Promise.race([finished.promise, sleep(deps.clock, leftMs, done.signal)]);
    }
    return await showJob(deps, jid);
  } finally {
    done.abort();
    subscription.unsubscribe();
  }
}
