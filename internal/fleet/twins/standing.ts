/** Two instances of one key that are there at once, or in turns, for longer than this are two hosts. */
const togetherMs = 30_000;
/** What was held up on the way arrives in one moment. Two messages this far apart were sent by something that runs. */
const spacedMs = 5_000;
/** A peel sends a heartbeat right after it connected. */
const greetingMs = 3_000;
/** By how much the clocks of two servers of the bus may differ, when a new instance connects. */
const skewMs = 2_000;
/** A crashing process makes an instance with each start; of more than these the oldest is forgotten. */
const maxSeen = 4;
const maxOpened = 4;

/** What was seen of one instance. Times are milliseconds since the Unix epoch, by the clock of the bus. */
export interface Seen {
  /** In hexadecimal; empty for messages without an instance, which are those of one other instance. */
  readonly id: string;
  readonly first: number;
  readonly last: number;
  /** The greatest. */
  readonly seq: number;
  /** When it sent the first message after the newest instance began. */
  readonly again?: number;
  /** When it connected last, as far as that is known. */
  readonly connected?: number;
  /** The first message with a lower number than one before: it came late, or the process was set back. */
  readonly low?: { readonly seq: number; readonly at: number };
}

/** What is remembered of the instances of one identity: no more with time. */
export interface Standing {
  /** In the order in which they were first seen. */
  readonly seen: readonly Seen[];
  /** When connections were opened that no message of a process explains yet. */
  readonly opened: readonly number[];
}

export interface Message {
  /** Absent in messages of earlier versions of svc-peel. */
  readonly instance?: { readonly id: string; readonly seq: number };
  /** When the bus stored it, or a master received it. */
  readonly at: number;
}

/** `twins`: two hosts hold this identity. `restored`: one host was set back to an earlier state. */
export type Verdict = "twins" | "restored";

export interface Judged {
  readonly standing: Standing;
  readonly verdict?: Verdict;
}

export const nothingSeen: Standing = { seen: [], opened: [] };

/** Takes a message of a peel. It holds whatever the order in which messages arrive: only when they were sent counts. */
export function receive(standing: Standing, { instance, at }: Message): Judged {
  const { id, seq } = instance ?? { id: "", seq: 0 };
  const known = standing.seen.find((one) => one.id === id);
  if (known === undefined) {
    const fresh = { id, first: at, last: at, seq };
    return { standing: connect(withSeen(standing, fresh), id, (opened) => isFirst(opened, fresh)) };
  }
  if (instance !== undefined && seq <= known.seq) return receiveLow(standing, known, { seq, at });
  if (isSetBack(standing, known, at)) return restored(standing, known, { seq, at });
  // It was overtaken on the way.
  if (at < known.last) return { standing: replaced(standing, { ...known, seq }) };
  const { low: _, ...rest } = known;
  const newest = standing.seen.at(-1);
  const isBack = known.again === undefined && newest !== undefined && newest !== known && at > newest.first;
  const next = replaced(standing, { ...rest, ...(isBack ? { again: at } : {}), seq, last: at });
  return judge(
    connect(next, id, (opened) => opened <= at),
    id,
    at,
  );
}

/** Takes that a connection of this key was opened. */
export function open(standing: Standing, at: number): Judged {
  if (standing.opened.includes(at) || standing.seen.some(({ connected }) => connected === at)) {
    return { standing };
  }
  const [only, second] = standing.seen;
  // It matters only whether it was opened after another instance was first seen: until then, whose it was.
  if (second === undefined && at <= (only?.last ?? at)) return { standing };
  const isPast = second !== undefined && at <= second.first;
  const own = standing.seen
    .filter((one) => isOpenedBy(one, at) && (!isPast || one.connected === undefined))
    .sort((one, other) => one.last - other.last)[0];
  if (own === undefined && isPast) return { standing };
  if (own === undefined) return judgeAll({ ...standing, opened: [...standing.opened, at].slice(-maxOpened) });
  return judgeAll(replaced(standing, { ...own, connected: Math.max(own.connected ?? at, at) }));
}

/** Since when no other instance was seen; `undefined` before the first message. */
export function onlyOneSince({ seen }: Standing): number | undefined {
  const newest = latest(seen);
  if (newest === undefined) return undefined;
  return Math.max(newest.first, ...seen.filter((one) => one !== newest).map(({ last }) => last));
}

/** The instance that sent the last message. */
export function latest(seen: readonly Seen[]): Seen | undefined {
  return seen.reduce<Seen | undefined>(
    (last, one) => (last === undefined || one.last >= last.last ? one : last),
    undefined,
  );
}

function receiveLow(standing: Standing, known: Seen, { seq, at }: { seq: number; at: number }): Judged {
  const { low } = known;
  const goesOn = low !== undefined && seq > low.seq;
  if (goesOn && at - low.at >= spacedMs) return restored(standing, known, { seq, at });
  return { standing: replaced(standing, { ...known, low: goesOn ? low : { seq, at } }) };
}

/**
 * Whether a process that another one followed is there again, and began with a lower number than its last one: a
 * machine was set back to when it ran, and the numbers have caught up since.
 */
function isSetBack({ seen }: Standing, { id, last, low }: Seen, at: number): boolean {
  if (low === undefined || at - low.at < spacedMs) return false;
  return seen.some((one) => one.id !== id && one.first > last && one.first < low.at);
}

/** From now on it is the newest instance. */
function restored(standing: Standing, { id }: Seen, { seq, at }: { seq: number; at: number }): Judged {
  const others = { ...standing, seen: standing.seen.filter((one) => one.id !== id) };
  return { standing: withSeen(others, { id, first: at, last: at, seq }), verdict: "restored" };
}

function withSeen(standing: Standing, fresh: Seen): Standing {
  const seen = [...standing.seen.map(({ again: _, ...one }) => one), fresh];
  if (seen.length <= maxSeen) return { ...standing, seen };
  const oldest = seen.reduce((old, one) => (one.last < old.last ? one : old));
  return { ...standing, seen: seen.filter((one) => one !== oldest) };
}

const replaced = (standing: Standing, next: Seen): Standing => ({
  ...standing,
  seen: standing.seen.map((one) => (one.id === next.id ? next : one)),
});

const isGreeting = (opened: number, at: number): boolean => opened <= at && at - opened <= greetingMs;
const isFirst = (opened: number, { first }: Seen): boolean =>
  Math.abs(first - opened) <= (first < opened ? skewMs : greetingMs);
/** Of an instance whose own connection is known, another one soon after its first message is not the same. */
const isOpenedBy = (one: Seen, opened: number): boolean =>
  isGreeting(opened, one.last) || (one.connected === undefined && isFirst(opened, one));

/** The process that opened a connection sends the first message after it, however busy its host is. */
function connect(standing: Standing, id: string, isOwn: (opened: number) => boolean): Standing {
  const own = standing.opened.filter(isOwn);
  if (own.length === 0) return standing;
  const opened = standing.opened.filter((one) => !own.includes(one));
  const seen = standing.seen.map((one) =>
    one.id === id ? { ...one, connected: Math.max(one.connected ?? 0, ...own) } : one,
  );
  return { seen, opened };
}

/** Compares one instance with each of the others. */
function judge(standing: Standing, id: string, at: number): Judged {
  const own = standing.seen.find((one) => one.id === id);
  if (own === undefined) return { standing };
  const areTwo = standing.seen.some((other) => other !== own && areTwins(standing, own, other));
  if (!areTwo) return { standing };
  // What comes of this is decided now. Only what is seen after it says whether there are still two.
  return { standing: { seen: [{ id, first: at, last: at, seq: own.seq }], opened: [] }, verdict: "twins" };
}

function judgeAll(standing: Standing): Judged {
  for (const { id, last } of standing.seen) {
    const judged = judge(standing, id, last);
    if (judged.verdict !== undefined) return judged;
  }
  return { standing };
}

function areTwins(standing: Standing, one: Seen, other: Seen): boolean {
  const [earlier, later] = one.first <= other.first ? [one, other] : [other, one];
  return areAtOnce(earlier, later) || areInTurns(standing, earlier, later);
}

/**
 * Both continued to send, from when the earlier one was back. What a master held up for long, it stores bit by bit: it
 * does not take as long as a process that runs.
 */
function areAtOnce({ again, last }: Seen, later: Seen): boolean {
  if (again === undefined || again <= later.first) return false;
  return Math.min(last, later.last) - again > togetherMs;
}

/** The earlier one is back, on a connection that it opened since. Without numbers, nobody knows what came late. */
function areInTurns({ opened }: Standing, earlier: Seen, later: Seen): boolean {
  if (earlier.id === "" || earlier.last - later.first < togetherMs) return false;
  const isSince = (at: number) => at > later.first && at <= earlier.last;
  return (earlier.connected !== undefined && earlier.connected > later.first) || opened.some(isSince);
}
