import { untilKey } from "../../bus/storage/mod.ts";
import { decodeJob, type Settled } from "./records/mod.ts";
import { type SettleDeps, settleJob } from "./settle.ts";

/** How long after its deadline the end of a job may still be written by the masters that follow it. */
const timeoutMs = 10_000;

/**
 * Waits until a master has written how a job ended. It does not poll, but watches the record.
 *
 * @returns `undefined` when there is no such job
 * @throws SvcError `storage`; the signal's reason
 */
export function untilSettled(
  deps: SettleDeps,
  jid: string,
  signal: AbortSignal,
): Promise<Settled | undefined> {
  const { bus, jobs, clock } = deps;
  return untilKey<Settled | undefined>(bus, { bucket: "jobs", key: jid, signal }, async (isLate) => {
    // A master writes it by then; this covers the case that none did.
    if (isLate) await settleJob(deps, jid);
    const entry = await jobs.get(jid);
    if (entry === undefined) return { found: undefined };
    const { settled, deadline } = decodeJob(entry.value);
    if (settled !== undefined) return { found: settled };
    const leftMs = Math.max(0, deadline - clock.now()) + timeoutMs;
    return { again: (run) => clock.after(leftMs, run) };
  });
}
