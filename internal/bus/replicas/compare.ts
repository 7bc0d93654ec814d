import type { Inspection, Replica, ReplicatedStream } from "./inspect.ts";

/** A replica that does not hold what the others hold. */
export interface Difference {
  stream: string;
  /** The server whose replica differs. */
  server: string;
  /** One sentence without a full stop. */
  message: string;
  /** Unknown which server is wrong: `server` names all that may be. */
  unclear?: true;
}

/**
 * Finds replicas that differ, in several inspections of the same streams with a pause between them. A server that is
 * a moment behind, or that has not yet removed what expired, does not differ: what is compared must differ in
 * every look, and by more than what arrives and expires meanwhile explains.
 */
export function compareReplicas(inspections: readonly Inspection[]): Difference[] {
  const [latest] = inspections.toReversed();
  if (latest === undefined) return [];
  return [...latest.streams].flatMap(([name, stream]) => {
    const seen = inspections.flatMap((inspection) => inspection.streams.get(name) ?? []);
    return seen.length < inspections.length
      ? []
      : [...compareStream(name, stream, seen), ...missing(name, inspections)];
  });
}

function compareStream(
  name: string,
  { leader }: ReplicatedStream,
  seen: readonly ReplicatedStream[],
): Difference[] {
  const histories = new Map<string, Replica[]>();
  for (const { replicas } of seen) {
    for (const [server, replica] of replicas) {
      histories.set(server, [...(histories.get(server) ?? []), replica]);
    }
  }
  const complete = [...histories].filter(([, history]) => history.length === seen.length);
  const agreeing = (history: readonly Replica[]) =>
    complete.filter(([, other]) => whyDifferent(history, other) === undefined).length;
  // The majority is right; without one, the leader is, which is what readers get.
  const [reference] = complete.toSorted(
    ([one, history], [other, otherHistory]) =>
      agreeing(otherHistory) - agreeing(history) || Number(other === leader) - Number(one === leader),
  );
  if (reference === undefined) return [];
  const [right, rightHistory] = reference;
  return complete.flatMap(([server, history]) => {
    const why = whyDifferent(rightHistory, history);
    if (why === undefined) return [];
    const message = `${name} on ${server} ${why}: ${report(server, history)}, ${report(right, rightHistory)}`;
    return [{ stream: name, server, message }];
  });
}

/** Replicas that do not exist although their server answered each time. */
function missing(name: string, inspections: readonly Inspection[]): Difference[] {
  const peers = new Set(inspections.flatMap((inspection) => inspection.streams.get(name)?.peers ?? []));
  return [...peers].flatMap((server) => {
    const isMissing = inspections.every(
      ({ servers, streams }) => servers.has(server) && streams.get(name)?.replicas.has(server) === false,
    );
    return isMissing ? [{ stream: name, server, message: `${server} does not hold ${name}` }] : [];
  });
}

/** @returns `undefined` when the histories fit to equal replicas */
function whyDifferent(right: readonly Replica[], other: readonly Replica[]): string | undefined {
  const range = (history: readonly Replica[], of: "first" | "last") => {
    const values = history.map((replica) => replica[of]);
    return { low: Math.min(...values), high: Math.max(...values) };
  };
  const [last, otherLast] = [range(right, "last"), range(other, "last")];
  // What one of them had at the first inspection is missing from the other one at the last.
  if (otherLast.high < last.low) return "is behind and does not catch up";
  if (otherLast.low > last.high) return "holds messages that the others do not have";
  const [first, otherFirst] = [range(right, "first"), range(other, "first")];
  if (otherFirst.low > first.high) return "lacks the oldest messages";
  if (otherFirst.high < first.low) return "holds old messages that the others have removed";
  const gaps = right.map((replica, i) => gapOf(replica, other[i] ?? replica));
  if (gaps.every((gap) => gap > 0)) return "lacks messages";
  if (gaps.every((gap) => gap < 0)) return "holds messages that the others do not have";
  return undefined;
}

/** How many messages `other` lacks beyond what is on its way to it, or expired there first; negative for more. */
function gapOf(right: Replica, other: Replica): number {
  const gap = right.messages - other.messages;
  const explained = Math.abs(right.last - other.last) + Math.abs(right.first - other.first);
  return Math.abs(gap) <= explained ? 0 : gap;
}

function report(server: string, history: readonly Replica[]): string {
  const { messages = 0, last = 0 } = history.at(-1) ?? {};
  return `${server} holds ${messages} messages up to ${last}`;
}
