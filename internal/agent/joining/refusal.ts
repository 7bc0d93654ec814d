import { SvcError } from "../../base/errors.ts";
import type { Answer } from "./master-client.ts";

/** A refusal by a master that only an operator can resolve, with its request id in the master's log. */
export function refusal(what: string, { status, body, requestId }: Answer): SvcError {
  const request = requestId === undefined ? "" : `, request ${requestId}`;
  return new SvcError("forbidden", `${what}: ${String(body.error ?? "")} (status ${status}${request})`);
}

/** The credentials were issued but are not on this host: only a new enrollment helps. */
export function credentialsGone(id: string): SvcError {
  return new SvcError(
    "forbidden",
    `the one-time credentials of ${id} were already issued, but are not on this host: run svc enroll revoke ${id} and restart the peel`,
  );
}
