import { createRanking, type Ranking } from "./ranking.ts";
import type { Source } from "./sources.ts";

/** How many connections there may be. */
export interface TableLimits {
  /** Of all sources, without a finished TLS handshake. */
  unfinished: number;
  /** Of all sources, with one and without a valid token, session or key. */
  unproven: number;
  /** Of all sources, whatever they proved. */
  all: number;
}

/** Why a connection is closed for a limit. */
export const closeReasons = [
  "source_handshakes",
  "source_connections",
  "all_handshakes",
  "all_unproven",
  "all_connections",
] as const;
export type CloseReason = (typeof closeReasons)[number];

/** A connection to close. */
export interface Closing<Member> {
  member: Member;
  reason: CloseReason;
}

/** How many connections there are. */
export interface TableCounts {
  handshake: number;
  unproven: number;
  proven: number;
}

/**
 * The connections of a listener, from their accept to their end. It decides which of them are closed, and closes none
 * itself: what it names is no longer in the table.
 */
export interface ConnectionTable<Member> {
  readonly counts: TableCounts;
  /** A connection was accepted. @returns those to close for it, or itself if its source has too many */
  accept(member: Member, source: Source): Closing<Member>[];
  /** Its TLS handshake is finished. @returns as `accept` */
  finish(member: Member): Closing<Member>[];
  /** A request on it had a valid token, session or key: from then on its source may have others. */
  prove(member: Member): void;
  /** It has ended. */
  remove(member: Member): void;
}

/** Limits for each source are refused to the newcomer; where a limit for all is reached, another connection is closed. */
export function createConnectionTable<Member>(limits: TableLimits): ConnectionTable<Member> {
  const entries = new Map<Member, { source: Source; stage: "unfinished" | "unproven" | "proven" }>();
  const rankings = {
    all: createRanking<Member>(),
    unfinished: createRanking<Member>(),
    unproven: createRanking<Member>(),
  };
  const remove = (member: Member) => {
    const entry = entries.get(member);
    if (entry === undefined) return;
    entries.delete(member);
    for (const ranking of Object.values(rankings)) ranking.remove(entry.source.key, member);
  };
  const refuse = (member: Member, reason: CloseReason): Closing<Member>[] => {
    remove(member);
    return [{ member, reason }];
  };
  /** Makes room for one more. */
  const makeRoom = (ranking: Ranking<Member>, limit: number, reason: CloseReason): Closing<Member>[] => {
    if (ranking.size < limit) return [];
    const member = ranking.oldestOfLargest();
    return member === undefined ? [] : refuse(member, reason);
  };
  return {
    get counts() {
      const [handshake, unproven] = [rankings.unfinished.size, rankings.unproven.size];
      return { handshake, unproven, proven: entries.size - handshake - unproven };
    },
    accept(member, source) {
      if (rankings.unfinished.countOf(source.key) >= source.unfinished) {
        return [{ member, reason: "source_handshakes" }];
      }
      const closing = [
        ...makeRoom(rankings.unfinished, limits.unfinished, "all_handshakes"),
        ...makeRoom(rankings.all, limits.all, "all_connections"),
      ];
      entries.set(member, { source, stage: "unfinished" });
      rankings.all.add(source.key, member);
      rankings.unfinished.add(source.key, member);
      return closing;
    },
    finish(member) {
      const entry = entries.get(member);
      if (entry?.stage !== "unfinished") return [];
      const { key, finished } = entry.source;
      if (rankings.unproven.countOf(key) >= finished) return refuse(member, "source_connections");
      rankings.unfinished.remove(key, member);
      const closing = makeRoom(rankings.unproven, limits.unproven, "all_unproven");
      entry.stage = "unproven";
      rankings.unproven.add(key, member);
      return closing;
    },
    prove(member) {
      const entry = entries.get(member);
      if (entry?.stage !== "unproven") return;
      entry.stage = "proven";
      rankings.unproven.remove(entry.source.key, member);
    },
    remove,
  };
}
