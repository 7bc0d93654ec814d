import type { Clock, Timer } from "../../base/clock.ts";
import { attempt } from "../../base/errors.ts";
import { decode } from "../../base/msgpack.ts";
import { failureOf } from "../../bus/subjects/envelope.ts";
import type { Connection } from "./connection.ts";

/** How long one master may take before the request is sent again. */
const firstPauseMs = 1_000;
/** Masters that usually take long are busy: more requests would not help. */
const patience = 3;
const maxRequests = 4;
/** Weight of the newest answer in the usual time. */
const newestWeight = 0.3;

/**
 * Sends a request to the masters.
 *
 * @returns the first answer
 * @throws when no master answers in time, or the bus is unreachable
 */
export type HedgedRequest = (subject: string, data: Uint8Array, timeoutMs: number) => Promise<Uint8Array>;

/**
 * Sends requests that may be sent twice. The bus gives each request to one master at random, also to one
 * that is frozen: without an answer the request is sent again, and probably meets another.
 */
export function createHedgedRequest({
  connection,
  clock,
}: {
  connection: Pick<Connection, "request">;
  clock: Clock;
}): HedgedRequest {
  let usualMs = 0;
  return (subject, data, timeoutMs) =>
    new Promise((resolve, reject) => {
      const startedAt = clock.monotonic();
      const pauseMs = Math.max(firstPauseMs, patience * usualMs);
      let sent = 0;
      let open = 0;
      let refusal: Uint8Array | undefined;
      let timer: Timer | undefined;
      let isOver = false;

      const settle = (finish: () => void) => {
        isOver = true;
        timer?.cancel();
        finish();
      };
      const send = () => {
        const at = clock.monotonic();
        const leftMs = timeoutMs - (at - startedAt);
        sent++;
        open++;
        if (sent < maxRequests && pauseMs < leftMs) timer = clock.after(pauseMs, send);
        connection.request(subject, data, leftMs).then(
          (answer) => {
            open--;
            if (isOver) return;
            // It may be refused because an earlier one is being answered.
            if (open > 0 && isRefusedForNow(answer)) {
              refusal = answer;
              return;
            }
            usualMs += newestWeight * (clock.monotonic() - at - usualMs);
            settle(() => resolve(answer));
          },
          (thrown) => {
            open--;
            if (open > 0 || isOver) return;
            settle(() => (refusal === undefined ? reject(thrown) : resolve(refusal)));
          },
        );
      };
      send();
    });
}

/** The same connection, whose requests are all hedged. */
export function withHedging<C extends Pick<Connection, "request">>(connection: C, clock: Clock): C {
  return Object.create(connection, { request: { value: createHedgedRequest({ connection, clock }) } });
}

function isRefusedForNow(answer: Uint8Array): boolean {
  return attempt(() => failureOf(decode(answer))?.code === "rate_limited", false);
}
