import { describeError, meaningOf, toSvcError } from "../../../base/errors.ts";
import type { Log } from "../../../base/log.ts";
import { newRequestId, readRequestId } from "../../../base/request-id.ts";
import type { Bus } from "../../../bus/connect.ts";
import { encodeFailure } from "./message.ts";

/** One request of an operator, apart from what it asks. */
export interface OperatorRequest {
  /** As it was published. */
  subject: string;
  /** Names the request in logs: the operator's own, when it is well formed. */
  requestId: string;
  /** Adds the request id to every record. */
  log: Log;
}

/**
 * Serves requests of operators on a subject. Each is logged under its request id when it is over; a failure is
 * logged at its level and told in the reply.
 */
export function serveOperators(
  { bus, log }: { bus: Pick<Bus, "serve">; log: Log },
  subject: string,
  queue: string,
  run: (data: Uint8Array, request: OperatorRequest) => Promise<Uint8Array>,
): { stop(): void } {
  return bus.serve(subject, queue, async (data, at) => {
    const requestId = readRequestId(data) ?? newRequestId();
    const request = { subject: at, requestId, log: log.with({ request_id: requestId }) };
    try {
      const reply = await run(data, request);
      request.log.info("bus request complete", { subject: at });
      return reply;
    } catch (thrown) {
      request.log[meaningOf(toSvcError(thrown).kind).level]("bus request refused", {
        subject: at,
        reason: describeError(thrown),
      });
      return encodeFailure(thrown);
    }
  });
}
