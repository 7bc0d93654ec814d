import { sha256 } from "../../base/sha256.ts";
import { type Entry, isSignedEntry, type Link, readEntry } from "./entry.ts";

/** A stored entry, as the stream holds it. */
export interface StoredEntry {
  /** Sequence in the stream. */
  sequence: number;
  bytes: Uint8Array;
}

/** What is wrong with the chain at a sequence, in words. */
export interface ChainProblem {
  seq: number;
  problem: string;
}

/** The verification of a chain, entry after entry. */
export interface ChainCheck {
  /** Takes the next stored entry. @returns its content, unless it cannot be read */
  take(stored: StoredEntry): Entry | undefined;
  /** The last entry that was taken. */
  readonly last: Link | undefined;
  /** How many entries were taken. */
  readonly count: number;
  /** The first that were found, at most `maxProblems`. */
  readonly problems: readonly ChainProblem[];
  /** How many were found. */
  readonly found: number;
}

const maxProblems = 100;

/**
 * Verifies a chain: sequences rise by one, each entry names the hash of the one before, and a command key of the
 * fleet signed it. Whatever is changed, removed, inserted or moved shows at that place or at the next one.
 *
 * @param keys the public command keys that the fleet has or had
 * @param first the sequence that the chain must begin with; absent where older entries may be gone
 */
export function createChainCheck(keys: readonly string[], first?: number): ChainCheck {
  const known = new Set(keys);
  const problems: ChainProblem[] = [];
  let found = 0;
  let count = 0;
  let last: Link | undefined;
  const say = (seq: number, problem: string) => {
    found++;
    if (problems.length < maxProblems) problems.push({ seq, problem });
  };
  const judge = (entry: Entry, sequence: number) => {
    if (entry.seq !== sequence) say(sequence, `it says that it is entry ${entry.seq}: it was moved`);
    if (!known.has(entry.keyOfMaster))
      say(sequence, `signed with ${entry.keyOfMaster}, which no master of this fleet has`);
    else if (!isSignedEntry(entry)) say(sequence, "its signature is wrong: it was changed");
    // What was before a gap is not known.
    const before = last?.seq === sequence - 1 ? last.hash : undefined;
    const expected = sequence === 1 ? new Uint8Array(32) : before;
    if (expected !== undefined && !Buffer.from(entry.previous).equals(expected)) {
      say(sequence, "it does not continue the entry before: one of them was replaced");
    }
  };
  return {
    take({ sequence, bytes }) {
      const next = last === undefined ? first : last.seq + 1;
      if (next !== undefined && sequence !== next) {
        say(next, sequence === next + 1 ? "it is missing" : `${next} to ${sequence - 1} are missing`);
      }
      count++;
      let entry: Entry | undefined;
      try {
        entry = readEntry(bytes);
      } catch {
        say(sequence, "it is not an entry that a master wrote");
      }
      if (entry !== undefined) judge(entry, sequence);
      last = { seq: sequence, hash: sha256(bytes) };
      return entry;
    },
    get last() {
      return last;
    },
    get count() {
      return count;
    },
    problems,
    get found() {
      return found;
    },
  };
}
