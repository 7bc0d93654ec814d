import { SvcError } from "../../base/errors.ts";
import type { Answer } from "./master-client.ts";

/** A refusal by a master that only an operator can resolve, with its request id in the master's log. */
export function refusal(what: string, { status, body, requestId }: Answer): SvcError {
  const request = requestId === undefined ? "" : `, request ${requestId}`;
  return new SvcError("forbidden", `${what}: ${String(body.error ?? "")} (status ${status}${request})`);
}

/** The credentials were issued, but are not on this host: they can be recovered. */
export class CredentialsGone extends SvcError {
  readonly enrollmentId: string;

  constructor(enrollmentId: string) {
    super(
      "forbidden",
      `the one-time credentials of ${enrollmentId} were already issued, but are not on this host`,
    );
    this.enrollmentId = enrollmentId;
  }
}
