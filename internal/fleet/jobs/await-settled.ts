import { keySubject } from "../../bus/subjects.ts";
import { decodeJob, type Settled } from "./record.ts";
import { type SettleDeps, settleJob } from "./settle.ts";

/** How long after its deadline the end of a job may still be written by the masters that follow it. */
const patienceMs = 10_000;

/**
 * Waits until a master has written how a job ended. Nothing is asked in between: the change of the record
 * tells it.
 *
 * @returns `undefined` when there is no such job
 * @throws SvcError `storage`; the signal's reason
 */
export async function untilSettled(
  deps: SettleDeps,
  jid: string,
  signal: AbortSignal,
): Promise<Settled | undefined> {
  const { bus, jobs, clock } = deps;
  let changed = Promise.withResolvers<"changed" | "late">();
  // Nobody may be waiting when the signal comes: it is looked at before every wait.
  changed.promise.catch(() => {});
  const wake = () => changed.resolve("changed");
  // Subscribed first and read after: what comes between the two is seen twice, never missed.
  const subscription = bus.nats.subscribe(keySubject("jobs", jid), { callback: wake });
  const unsubscribe = bus.onReconnect(wake);
  const abort = () => changed.reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  try {
    await bus.nats.flush();
    for (;;) {
      signal.throwIfAborted();
      changed = Promise.withResolvers();
      changed.promise.catch(() => {});
      const entry = await jobs.get(jid);
      if (entry === undefined) return undefined;
      const job = decodeJob(entry.value);
      if (job.settled !== undefined) return job.settled;
      const leftMs = Math.max(0, job.deadline - clock.now()) + patienceMs;
      const late = clock.after(leftMs, () => changed.resolve("late"));
      // Every master writes it by then, so this is for the day that none did.
      const news = await changed.promise.finally(() => late.cancel());
      if (news === "late") await settleJob(deps, jid);
    }
  } finally {
    subscription.unsubscribe();
    unsubscribe();
    signal.removeEventListener("abort", abort);
  }
}
