import type { Administrator } from "../../wire/administrators.ts";
import { decodeOperator, isSignedOperator } from "../../wire/operator-record.ts";
import { judgeOperator, type Standing } from "../../wire/operator-standing.ts";
import { isSignedFor, type SignedRequest } from "../../wire/signed-request.ts";
import { clockToleranceMs } from "../../wire/verify-request.ts";
import { refuse } from "./refusal.ts";

/** What a peel relies on. */
export interface Rules {
  /** Whose records count; learned at enrollment. */
  administrators: readonly Administrator[];
  /** Functions that run without an operator: `test.ping`, or `test.*`. */
  automationFunctions: readonly string[];
  /** Milliseconds since the Unix epoch. */
  now: number;
}

/** @returns the name of the operator who signed for this subject, and is valid by the administrators of this peel */
export function signerOf(
  request: SignedRequest,
  subject: string,
  records: readonly Uint8Array[],
  { administrators, now }: Rules,
): string {
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
  const judged = judgeOperator(standingOf(records, administrators), operator, key, now);
  if ("refused" in judged) refuse(`this peel does not accept ${operator}: ${judged.refused}`);
  return operator;
}

/** What is known of operators: what came with the command, as far as it leads to an administrator. */
function standingOf(encoded: readonly Uint8Array[], administrators: readonly Administrator[]): Standing {
  const records = encoded.map((bytes) => decodeOperator(bytes));
  return {
    administrators,
    find: (name) => records.find((record) => record.name === name),
    holdersOf: (key) => records.filter(({ publicKey }) => publicKey === key),
    versionFloor: () => 0,
    isSigned: isSignedOperator,
  };
}
