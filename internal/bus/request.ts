import { ErrorCode, NatsError } from "nats";
import { SvcError } from "../base/errors.ts";
import type { Bus } from "./connect.ts";

/** What to do about permissions that operators have today and these credentials lack. */
export const newerCredentials = "take ones made by svc nats-auth credentials of this version";

/**
 * Sends a request and waits for one reply.
 *
 * @returns `undefined` when nobody serves the subject
 * @throws SvcError `unavailable` when nobody answered in time, `forbidden` without the permission to ask
 */
export async function requestReply(
  bus: Bus,
  subject: string,
  payload: Uint8Array,
  timeoutMs: number,
): Promise<Uint8Array | undefined> {
  try {
    return (await bus.nats.request(subject, payload, { timeout: timeoutMs })).data;
  } catch (cause) {
    if (!(cause instanceof NatsError)) throw cause;
    if (cause.code === ErrorCode.NoResponders) return undefined;
    if (cause.isPermissionError()) {
      throw new SvcError(
        "forbidden",
        `these credentials may not publish on ${subject}: ${newerCredentials}`,
        { cause },
      );
    }
    throw new SvcError("unavailable", `no answer on ${subject} within ${timeoutMs / 1000} s`, { cause });
  }
}
