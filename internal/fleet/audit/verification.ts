import type { Clock } from "../../base/clock.ts";
import { sha256Hex } from "../../base/sha256.ts";
import { shareRuns } from "../../base/share-runs.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import { messageAt } from "../../bus/storage/mod.ts";
import { readRange, streamEnds } from "../../bus/streams/mod.ts";
import { auditStream } from "./append.ts";
import { type ChainCheck, type ChainProblem, createChainCheck } from "./chain.ts";
import { contradictionsOf, missingAtTheEnd } from "./ends.ts";
import type { AuditMemory } from "./memory.ts";

/** A signature takes some tenths of a millisecond: a master answers others between two pages. */
const pageSize = 200;
/** Of one request, which takes well below a second. */
const usualPerRequest = 1_000;
/** What was verified longer ago than this is verified again. */
const agingMs = 3600_000;

/** How far the audit is verified. */
export interface ChainState {
  /** Number of entries that were verified. */
  entries: number;
  /** The oldest entry that is stored. */
  first: number;
  /** The last one that was verified; 0 before the first. */
  verified: number;
  /** The newest one that is stored. */
  last: number;
  /** When this verification began with the oldest entry, milliseconds since the Unix epoch. */
  beganAt: number;
  done: boolean;
  /** How many problems were found. */
  found: number;
  /** By their place in the chain; not all are listed where there are many. */
  problems: ChainProblem[];
}

/** What a master has verified of the audit, on request and step by step. */
export interface Verification {
  /** Verifies some entries more. @param again begins with the oldest entry @throws SvcError `storage` */
  check(again?: boolean): Promise<ChainState>;
}

export function createVerification(options: {
  bus: Bus;
  /** The public command keys that the fleet has or had. */
  keys(): readonly string[];
  memory: Pick<AuditMemory, "current" | "refresh">;
  clock: Pick<Clock, "now" | "monotonic">;
  /** How many entries one request verifies at most. */
  perRequest?: number;
}): Verification {
  const { bus, keys, memory, clock, perRequest = usualPerRequest } = options;
  let run: { check: ChainCheck; keys: string; beganAt: number; beganMs: number } | undefined;
  let isWanted = false;

  const begin = (first: number) => {
    const known = keys();
    const [beganAt, beganMs] = [clock.now(), clock.monotonic()];
    return { check: createChainCheck(known, Math.max(1, first)), keys: known.join(), beganAt, beganMs };
  };
  const step = async (): Promise<ChainState> => {
    await memory.refresh();
    const { first, last } = await streamEnds(bus, auditStream);
    if (isWanted || (run !== undefined && mustBeginAnew(run, { first, last }))) run = undefined;
    isWanted = false;
    run ??= begin(first);
    const { check, beganAt } = run;
    let isCut = false;
    for (let left = perRequest; left > 0; left -= pageSize) {
      const from = (check.last?.seq ?? first - 1) + 1;
      if (from > last) break;
      const count = Math.min(left, pageSize);
      const found = await readRange(bus, auditStream, { from, count });
      for (const { sequence, data } of found) check.take({ sequence, bytes: data });
      isCut = found.length === 0;
      if (isCut) break;
    }
    const verified = check.last?.seq ?? 0;
    const others = [
      ...(isCut ? missingAtTheEnd(first, verified, last) : []),
      ...(await contradictions({ first, last })),
    ];
    return {
      ...{ entries: check.count, first, verified, last, beganAt, done: isCut || verified >= last },
      ...{ problems: [...check.problems, ...others], found: check.found + others.length },
    };
  };
  const mustBeginAnew = (
    { check: { last: at }, ...before }: NonNullable<typeof run>,
    { first, last }: { first: number; last: number },
  ): boolean => {
    // A key of a master that is new would look like that of a stranger.
    if (before.keys !== keys().join()) return true;
    if (at === undefined) return false;
    // What followed has expired, or the end was removed: the chain as it is now is another one.
    if (first > at.seq + 1 || last < at.seq) return true;
    return at.seq === last && clock.monotonic() - before.beganMs > agingMs;
  };
  /** What this master remembers of the ends otherwise than it is stored. */
  const contradictions = async (ends: { first: number; last: number }) => {
    const known = memory.current;
    if (known === undefined) return [];
    const stored = await messageAt(bus, auditStream, known.last.seq);
    return contradictionsOf(
      { first: known.first.seq, last: known.last.seq, last_hash: known.last.hash },
      { ...ends, hash: stored === undefined ? undefined : sha256Hex(stored.data) },
    );
  };
  const share = shareRuns(step);
  return {
    check(again = false) {
      isWanted ||= again;
      return share();
    },
  };
}
