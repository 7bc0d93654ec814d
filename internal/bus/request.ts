import { ErrorCode, NatsError } from "nats";
import { SvcError } from "../base/errors.ts";
import type { Bus } from "./connect.ts";

/** What to do when credentials lack permissions that operators have in this version. */
export const newerCredentials = "create new ones with svc nats-auth credentials of this version";

/**
 * Sends a request and waits for one reply.
 *
 * @returns `undefined` when no client serves the subject
 * @throws SvcError `unavailable` when no reply arrived in time, `forbidden` without permission to publish
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
