import * as v from "valibot";
import type { Clock } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import { readTextIfPresent, secretMode, writeFileAtomic } from "../../base/files/file.ts";
import type { Log } from "../../base/log.ts";
import { sha256Hex } from "../../base/sha256.ts";
import { shareRuns } from "../../base/share-runs.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import { messageAt } from "../../bus/storage/mod.ts";
import { type StreamEnds, streamEnds } from "../../bus/streams/mod.ts";
import { auditStream } from "./append.ts";
import { genuineEntry, type Link } from "./entry.ts";

const whole = v.pipe(v.number(), v.safeInteger(), v.minValue(1));
const stored = v.strictObject({
  v: v.literal(1),
  first: v.strictObject({ seq: whole, at: v.pipe(v.number(), v.safeInteger()) }),
  last: v.strictObject({ seq: whole, hash: v.pipe(v.string(), v.regex(/^[0-9a-f]{64}$/)) }),
});

/** What a master remembers of the audit. */
export interface RememberedAudit {
  /** The oldest entry that it saw and that has not expired; `at` in milliseconds since the Unix epoch. */
  first: { seq: number; at: number };
  /** The newest that it saw, before anything that contradicts it; the hash is in hexadecimal. */
  last: { seq: number; hash: string };
}

/** The ends of the audit on the disk of a master: an attacker who controls the bus cannot make it forget them. */
export interface AuditMemory {
  /** Absent before the first entry. */
  readonly current: RememberedAudit | undefined;
  /**
   * Compares with what is stored now, and remembers that.
   *
   * @returns the ends of the audit, as they were asked for
   * @throws SvcError `storage`
   */
  refresh(): Promise<StreamEnds>;
}

/**
 * @param options.path its file, next to the log of decisions
 * @param options.keys the public command keys that the fleet has or had
 * @param options.retentionMs `audit.retention`
 */
export function openAuditMemory(options: {
  bus: Bus;
  path: string;
  keys(): readonly string[];
  /** The newest entry that this master wrote or saw in this run. */
  head(): Link | undefined;
  retentionMs: number;
  clock: Pick<Clock, "now">;
  log: Log;
}): AuditMemory {
  const { bus, path, keys, retentionMs, clock, log } = options;
  let known = load(path, log);
  let said = "";
  const complain = (problem: string) => {
    if (said !== problem)
      log.error(problem, { next: "compare it with the peels: svc audit verify --witness '*'" });
    said = problem;
  };
  /** An entry that a master wrote at its place. */
  const readAt = async (seq: number) => {
    const message = await messageAt(bus, auditStream, seq);
    if (message === undefined) return undefined;
    // Whether a master wrote it is verified only on request: a check of an idle audit compares the hash.
    return { hash: sha256Hex(message.data), at: () => genuineEntry(message.data, seq, keys())?.at };
  };
  const remember = (next: RememberedAudit) => {
    if (JSON.stringify(next) === JSON.stringify(known)) return;
    known = next;
    try {
      writeFileAtomic(path, `${JSON.stringify({ v: 1, ...next })}\n`, secretMode);
    } catch (thrown) {
      log.warn("the ends of the audit are kept in memory only", { path, reason: describeError(thrown) });
    }
  };
  const check = async () => {
    // What this master writes while the answer is under way is not in it.
    const head = options.head();
    const ends = await streamEnds(bus, auditStream);
    const { first, last } = ends;
    if (last === 0 && known === undefined) return ends;
    const before = known;
    let from = before?.first;
    if (
      from === undefined ||
      first < from.seq ||
      (first > from.seq && from.at <= clock.now() - retentionMs)
    ) {
      const at = (await readAt(first))?.at();
      if (at !== undefined) from = { seq: first, at };
    } else if (first > from.seq) complain("entries of the audit that have not expired were removed");
    let to = before?.last;
    let isContradicted = false;
    const own = head === undefined ? undefined : { seq: head.seq, hash: hexOf(head.hash) };
    // On an idle fleet the two are the same entry, which is read once.
    const isSame = own?.seq === to?.seq && own?.hash === to?.hash;
    for (const one of isSame ? [to] : [to, own]) {
      if (isContradicted || one === undefined || one.seq < (to?.seq ?? 0)) continue;
      to = one;
      const found = one.seq < first || one.seq > last ? undefined : await readAt(one.seq);
      isContradicted = one.seq > last || (found !== undefined && found.hash !== one.hash);
    }
    if (isContradicted) complain("the audit was rewritten, or entries at its end were removed");
    else if (last > 0 && to?.seq !== last) {
      const newest = await readAt(last);
      if (newest?.at() !== undefined) to = { seq: last, hash: newest.hash };
    }
    if (from !== undefined && to !== undefined) remember({ first: from, last: to });
    return ends;
  };
  return {
    get current() {
      return known;
    },
    refresh: shareRuns(check),
  };
}

const hexOf = (hash: Uint8Array): string => Buffer.from(hash).toString("hex");

/** A file that cannot be read counts as empty; peels remember the audit as well. */
function load(path: string, log: Log): RememberedAudit | undefined {
  try {
    const text = readTextIfPresent(path);
    if (text === undefined) return undefined;
    const { first, last } = v.parse(stored, JSON.parse(text));
    return { first, last };
  } catch (thrown) {
    log.error("what this master remembers of the audit cannot be read", {
      path,
      reason: describeError(thrown),
    });
    return undefined;
  }
}
