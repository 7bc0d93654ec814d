import { SvcError } from "../../base/errors.ts";
import type { Answer } from "./master-client.ts";

/** A master's no that only an operator can change, with what names it in the master's log. */
export function refusal(what: string, { status, body, requestId }: Answer): SvcError {
  const request = requestId === undefined ? "" : `, request ${requestId}`;
  return new SvcError("forbidden", `${what}: ${String(body.error ?? "")} (status ${status}${request})`);
}

/** The credentials were handed out, and are not here: the one way on is a new enrollment. */
export function credentialsGone(id: string): SvcError {
  return new SvcError(
    "forbidden",
    `the one-time credentials of ${id} were handed out already and are not here: run svc enroll revoke ${id} and start again`,
  );
}
