import { attempt, SvcError } from "../../base/errors.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import { readRange, sequenceAt, streamEnds } from "../../bus/streams/mod.ts";
import { auditStream } from "./append.ts";
import { type Entry, type EntryOutcome, isSignedEntry, readEntry } from "./entry.ts";

/** What a list shows of an entry: `unknown` is what began and has no end. */
export const shownOutcomes = ["refused", "begun", "done", "failed", "unknown"] as const;
export type ShownOutcome = (typeof shownOutcomes)[number];

/** An entry as it is shown. */
export interface ShownEntry extends Omit<Entry, "outcome" | "previous" | "signature"> {
  outcome: ShownOutcome;
  /** Whether a command key of the fleet signed it; what none did is not an entry of a master. */
  genuine: boolean;
}

/** Which entries a list has; absent means all. */
export interface Filter {
  /** Milliseconds since the Unix epoch. */
  since?: number | undefined;
  until?: number | undefined;
  operator?: string | undefined;
  /** The name of an operation, or with `*` for the rest: `jobs.*`. */
  action?: string | undefined;
  /** Encoded peel id. */
  peel?: string | undefined;
  outcome?: ShownOutcome | undefined;
}

export interface ReadDeps {
  bus: Bus;
  /** The public command keys that the fleet has or had. */
  keys(): readonly string[];
  /** Milliseconds since the Unix epoch. */
  now(): number;
}

/** How many entries are read at once. */
const window = 512;
/** How many entries one page looks at: with a filter that matches few, the next page continues behind them. */
const maxScanned = 8 * window;
/** What began longer ago and has no end will have none: the longest operation takes less. */
const openMs = 10 * 60_000;
/** Between the time of an entry and that of its message, by two clocks. */
export const slackMs = 120_000;

/**
 * A page of entries, the newest first. It reads by sequence, so that a long audit costs no more than a short one.
 *
 * @param page.before the sequence that the page ends before; absent for the newest
 * @returns the entries, and as `next` where the next page continues, when there is one
 * @throws SvcError `storage`
 */
export async function listEntries(
  deps: ReadDeps,
  filter: Filter,
  page: { limit: number; before?: number | undefined },
): Promise<{ entries: ShownEntry[]; next?: number }> {
  const { first, last } = await streamEnds(deps.bus, auditStream);
  let before = Math.min(page.before ?? Number.POSITIVE_INFINITY, last + 1);
  if (filter.until !== undefined) {
    const later = await sequenceAt(deps.bus, auditStream, filter.until + slackMs);
    before = Math.min(before, later ?? before);
  }
  const entries: ShownEntry[] = [];
  const ended = new Map<number, EntryOutcome>();
  // The ends of what a page begins with may come behind it.
  const behind = before;
  let isBehindRead = false;
  const matches = matcherOf(filter);
  const step = Object.values(filter).every((value) => value === undefined)
    ? Math.min(window, page.limit)
    : window;
  let checked = 0;
  while (before > first && checked < maxScanned) {
    const from = Math.max(first, before - step);
    const found = await readWindow(deps.bus, from, before);
    for (const entry of found) note(ended, entry);
    for (const entry of found.toReversed()) {
      if (!isBehindRead && seemsUnknown(entry, ended, deps)) {
        await noteEnds(deps, behind, ended);
        isBehindRead = true;
      }
      const shown = show(entry, ended, deps);
      if (filter.since !== undefined && entry.at < filter.since - slackMs) return { entries };
      if (matches(shown)) entries.push(shown);
      before = shown.seq;
      if (entries.length >= page.limit) return before > first ? { entries, next: before } : { entries };
    }
    before = from;
    checked += step;
  }
  return before > first ? { entries, next: before } : { entries };
}

/**
 * One entry.
 *
 * @throws SvcError `not_found`, `storage`
 */
export async function showEntry(deps: ReadDeps, seq: number): Promise<ShownEntry> {
  const ended = new Map<number, EntryOutcome>();
  const [own] = await readWindow(deps.bus, seq, seq + 1);
  if (own === undefined) throw new SvcError("not_found", `entry ${seq} of the audit does not exist`);
  if (seemsUnknown(own, ended, deps)) await noteEnds(deps, seq + 1, ended, (found) => found.has(seq));
  return show(own, ended, deps);
}

/** Notes the ends that come from a sequence on, as far as they are looked for, or until there is enough. */
async function noteEnds(
  { bus }: ReadDeps,
  from: number,
  ended: Map<number, EntryOutcome>,
  isEnough: (ended: ReadonlyMap<number, EntryOutcome>) => boolean = () => false,
): Promise<void> {
  for (let at = from; at < from + maxScanned && !isEnough(ended); at += window) {
    const found = await readWindow(bus, at, at + window);
    for (const entry of found) note(ended, entry);
    if (found.length === 0) return;
  }
}

/** An entry, and its sequence in the stream. */
type PlacedEntry = Entry & { sequence: number };

/**
 * The entries from a sequence on, before another one, oldest first; other messages are left out.
 *
 * @throws SvcError `storage`
 */
export async function readWindow(bus: Bus, from: number, before: number): Promise<PlacedEntry[]> {
  if (from >= before) return [];
  const messages = await readRange(bus, auditStream, { from, count: before - from });
  return messages.flatMap(({ data, sequence }) => {
    if (sequence >= before) return [];
    return attempt(() => [{ ...readEntry(data), sequence }], []);
  });
}

function note(ended: Map<number, EntryOutcome>, { outcome, subjects }: Entry): void {
  const { begun } = subjects;
  if (typeof begun === "number" && outcome !== "begun") ended.set(begun, outcome);
}

/** Whether it began long ago, and no end is known. */
function seemsUnknown(
  { sequence, outcome, at }: PlacedEntry,
  ended: ReadonlyMap<number, EntryOutcome>,
  { now }: Pick<ReadDeps, "now">,
): boolean {
  return outcome === "begun" && !ended.has(sequence) && now() - at > openMs;
}

/** What began is `begun` while it may still run, and `unknown` when nothing was written about its end. */
export function show(
  { sequence, ...entry }: PlacedEntry,
  ended: ReadonlyMap<number, EntryOutcome>,
  { keys, now }: Pick<ReadDeps, "keys" | "now">,
): ShownEntry {
  const { previous: _, signature: __, ...rest } = entry;
  const isUnknown = seemsUnknown({ sequence, ...entry }, ended, { now });
  const genuine = entry.seq === sequence && keys().includes(entry.keyOfMaster) && isSignedEntry(entry);
  return { ...rest, seq: sequence, outcome: isUnknown ? "unknown" : entry.outcome, genuine };
}

/** Whether a list with a filter has an entry. */
export function matcherOf({
  since,
  until,
  operator,
  action,
  peel,
  outcome,
}: Filter): (entry: ShownEntry) => boolean {
  const group = action?.endsWith("*") === true ? action.slice(0, -1) : undefined;
  return (entry) => {
    if (since !== undefined && entry.at < since) return false;
    if (until !== undefined && entry.at > until) return false;
    if (operator !== undefined && entry.operator !== operator) return false;
    if (
      group !== undefined ? !entry.action.startsWith(group) : action !== undefined && entry.action !== action
    )
      return false;
    if (outcome !== undefined && entry.outcome !== outcome) return false;
    return peel === undefined || names(entry, peel);
  };
}

function names({ subjects }: ShownEntry, peel: string): boolean {
  const { peels } = subjects;
  return subjects.peel === peel || (Array.isArray(peels) && peels.includes(peel));
}
