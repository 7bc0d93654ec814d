import type { Administrator } from "../../wire/administrators.ts";
import { decodeOperator } from "../../wire/operator-record.ts";
import { judgeOperator, type Operator } from "../../wire/operator-standing.ts";
import { isSignedFor, type SignedRequest } from "../../wire/signed-request.ts";
import { clockToleranceMs } from "../../wire/verify-request.ts";
import { type OwnReleases, standingOf } from "../releases/mod.ts";
import { refuse } from "./refusal.ts";

/** What a peel relies on. */
export interface Rules {
  /** Whose records count; learned at enrollment. */
  administrators: readonly Administrator[];
  /** Functions that run without an operator: `test.ping`, or `test.*`. */
  automationFunctions: readonly string[];
  /** Which functions a request may be for, by the roles of its signer: patterns such as `state.*`. */
  operatorRoles: ReadonlyMap<string, readonly string[]>;
  /** Roles whose operators may release state files, besides `admin`. */
  releaseRoles: readonly string[];
  /** What this peel knows of releases and operators. */
  releases: Pick<OwnReleases, "records" | "newest" | "allows">;
  /** Milliseconds since the Unix epoch. */
  now: number;
}

/** @returns the operator who signed for this subject, and is valid by the administrators of this peel */
export function signerOf(
  request: SignedRequest,
  subject: string,
  records: readonly Uint8Array[],
  { administrators, releases, now }: Pick<Rules, "administrators" | "releases" | "now">,
): Operator {
  const { operator, key, sentAt } = request;
  if (administrators.length === 0) {
    refuse(
      "this peel knows no administrators: they come with its credentials, when it enrolls or recovers them",
    );
  }
  if (sentAt > now + clockToleranceMs) {
    refuse(`the request of ${operator} is from the future by the clock of this host: set it`);
  }
  if (!isSignedFor(subject, request)) refuse(`the signature of ${operator} is wrong for this command`);
  const given = records.map((bytes) => decodeOperator(bytes));
  const judged = judgeOperator(standingOf(given, releases.records, administrators), operator, key, now);
  if ("refused" in judged) return refuse(`this peel does not accept ${operator}: ${judged.refused}`);
  return judged.operator;
}
