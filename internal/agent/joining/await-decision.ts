import { createBackoff } from "../../base/backoff.ts";
import { type Clock, sleep } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import type { MasterClient } from "./master-client.ts";
import { refusal } from "./refusal.ts";

const pauses = { firstMs: 10_000, maxMs: 5 * 60 * 1000 };
/** A stream that lasted longer than this worked, and ended because of its age or with its master. */
const workingStreamMs = 10_000;
const reopenMs = 1_000;

export interface AwaitOptions {
  masters: MasterClient;
  clock: Clock;
  jitter: () => number;
  log: Log;
  signal: AbortSignal;
}

/**
 * Waits until an enrollment is not pending any longer, without a timeout. It uses the status stream, and
 * polls with backoff while there is none. It keeps no state between rounds.
 *
 * @returns the state, or `gone` when the masters do not have this enrollment
 * @throws TrustError, SvcError `forbidden`, or the signal's reason
 */
export async function awaitDecision(options: AwaitOptions, id: string): Promise<string> {
  const { masters, clock, jitter, log, signal } = options;
  const backoff = createBackoff({ ...pauses, jitter });
  for (;;) {
    const opened = clock.monotonic();
    let state = "pending";
    await masters.stream(`/api/v1/enroll/${id}/stream`, (event, data) => {
      if (event === "state" && typeof data.state === "string") state = data.state;
      return state !== "pending";
    });
    if (state !== "pending") return state;

    let waitMs: number;
    if (clock.monotonic() - opened >= workingStreamMs) {
      backoff.reset();
      waitMs = Math.round(reopenMs * jitter());
    } else {
      waitMs = backoff.next();
    }
    log.debug("waiting for a decision", { enrollment_id: id, next_look_in_ms: waitMs });
    await sleep(clock, waitMs, signal);
    const status = await masters.request("GET", `/api/v1/enroll/${id}/status`);
    if (status.status === 404) return "gone";
    if (status.status !== 200) throw refusal("the master refused the status request", status);
    state = String(status.body.state);
    if (state !== "pending") return state;
  }
}
