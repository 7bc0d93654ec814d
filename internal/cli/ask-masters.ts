import { SvcError, toSvcError } from "../base/errors.ts";
import { encode, type Plain } from "../base/msgpack.ts";
import { newRequestId } from "../base/request-id.ts";
import type { Bus } from "../bus/connect.ts";
import { requestReply } from "../bus/request.ts";
import { operatorName } from "./operator.ts";

/** How long a master has to answer (specification, "Bus admin operations"). */
const usualTimeoutMs = 5_000;

/**
 * Asks the masters something as the operator at the keyboard; one of them answers. What a master did not do
 * is said with the id of the request, by which it is found in the logs of the masters.
 *
 * @param read reads the reply, and throws what the master answered
 * @param timeoutMs for what a master needs longer for
 * @returns `undefined` when no master serves the subject
 * @throws SvcError what `read` throws, `unavailable` when nobody answers in time, `forbidden` without the
 *   permission to ask
 */
export async function askMasters<T>(
  bus: Bus,
  subject: string,
  request: Readonly<Record<string, Plain | undefined>>,
  read: (reply: Uint8Array) => T,
  timeoutMs = usualTimeoutMs,
): Promise<T | undefined> {
  const requestId = newRequestId();
  const payload = encode({ ...request, operator: operatorName(), request_id: requestId });
  try {
    const reply = await requestReply(bus, subject, payload, timeoutMs);
    return reply === undefined ? undefined : read(reply);
  } catch (cause) {
    const { kind, message } = toSvcError(cause);
    // What may not be sent reached nobody, and a surprise of this side is in no log of another.
    if (!(cause instanceof SvcError) || kind === "forbidden") throw cause;
    throw new SvcError(kind, `${message} [request ${requestId}]`, { cause });
  }
}
