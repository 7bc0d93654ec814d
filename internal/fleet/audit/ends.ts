import type { ChainProblem } from "./chain.ts";

/** What a master remembers of the ends of the audit, with the SHA-256 of the newest entry in hexadecimal. */
export interface RememberedEnds {
  first: number;
  last: number;
  last_hash: string;
}

/** The stream had entries up to `newest`, and nothing was read of those behind `last`. */
export function missingAtTheEnd(first: number, last: number, newest: number): ChainProblem[] {
  const seq = Math.max(first, last + 1);
  return newest < seq ? [] : [{ seq, problem: `the entries from here to ${newest} are missing` }];
}

/**
 * What a master remembers otherwise than it is stored.
 *
 * @param stored the ends that are stored, and the SHA-256 of the entry `remembered.last`, where that was read
 */
export function contradictionsOf(
  remembered: RememberedEnds | undefined,
  { first, last, hash }: { first: number; last: number; hash: string | undefined },
): ChainProblem[] {
  if (remembered === undefined) return [];
  const found: ChainProblem[] = [];
  const { first: seq, last: newest, last_hash } = remembered;
  if (first > seq) {
    const which = first === seq + 1 ? "it is" : `${seq} to ${first - 1} are`;
    found.push({ seq, problem: `${which} missing, and had not expired: a master remembers` });
  }
  if (newest > last) {
    found.push({
      seq: newest,
      problem: `a master saw it, and the audit ends with ${last}: entries were removed`,
    });
  } else if (hash !== undefined && hash !== last_hash) {
    found.push({
      seq: newest,
      problem: "a master saw another entry: the audit was rewritten there or before",
    });
  }
  return found;
}
