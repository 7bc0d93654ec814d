import { createBackoff } from "../../base/backoff.ts";
import { type Clock, sleep } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { repeatedRequest } from "../operation/mod.ts";
import type { AuditWriter } from "./append.ts";
import type { Content } from "./entry.ts";
import type { Repeats } from "./repeats.ts";

/** How many ends wait for a bus that does not take them; the rest stays without an end. */
const maxWaiting = 1_000;
const pauses = { firstMs: 1_000, maxMs: 30_000 };

type Draft = Omit<Content, "at" | "master">;

/** How something ended. */
export interface End {
  outcome: "done" | "failed";
  reason?: string;
  /** In addition to those at its beginning. */
  subjects?: Content["subjects"];
}

/** Records what is about to happen, and its end. */
export interface Recorder {
  /**
   * Writes that something begins.
   *
   * @param nonce of a signed request that counts once, in hexadecimal
   * @returns called once, at its end; it does not fail
   * @throws SvcError `unavailable` within 5 s when it cannot be written, `unauthorized` when the same request began
   *   before: then it must not happen
   */
  begin(what: Omit<Draft, "outcome" | "reason">, nonce?: string): Promise<(end: End) => Promise<void>>;
  stop(): void;
}

/**
 * Records on both sides of what changes something. At its end it has happened: a bus that does not take that entry
 * fails no request, and gets it later.
 */
export function createRecorder({
  audit,
  repeats,
  clock,
  log,
}: {
  audit: Pick<AuditWriter, "append">;
  repeats: Repeats;
  clock: Clock;
  log: Log;
}): Recorder {
  const stopping = new AbortController();
  const late: Draft[] = [];
  let retrying = false;

  const retry = async () => {
    retrying = true;
    const backoff = createBackoff(pauses);
    for (let next = late[0]; next !== undefined && !stopping.signal.aborted; next = late[0]) {
      await sleep(clock, backoff.next(), stopping.signal);
      try {
        await audit.append(next);
        late.shift();
        backoff.reset();
      } catch (thrown) {
        log.debug("the end of an entry is not written yet", { reason: describeError(thrown) });
      }
    }
    retrying = false;
  };
  const write = async (ending: Draft) => {
    try {
      await audit.append(ending);
    } catch (thrown) {
      const fields = { operation: ending.action, operator: ending.operator, reason: describeError(thrown) };
      if (late.length >= maxWaiting) return log.error("the end of an entry is not written", fields);
      log.warn("the end of an entry is written later", fields);
      late.push(ending);
      // It ends with the last one, or with this master.
      if (!retrying) retry().catch(() => {});
    }
  };
  return {
    async begin(what, nonce) {
      const { action, operator, key, subjects: about } = what;
      const { seq } = await audit.append({
        ...what,
        subjects: { ...about, ...defined({ nonce }) },
        outcome: "begun",
      });
      const end = ({ outcome, reason, subjects }: End) =>
        write({ ...what, subjects: { ...about, ...subjects, begun: seq }, outcome, ...defined({ reason }) });
      if (nonce === undefined) return end;
      try {
        if (await repeats.isRepeated({ action, key, nonce }, seq)) throw repeatedRequest(operator);
      } catch (thrown) {
        await end({ outcome: "failed", reason: describeError(thrown) });
        throw thrown;
      }
      return end;
    },
    stop: () => stopping.abort(new Error("the master stops")),
  };
}
