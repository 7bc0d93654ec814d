import { createBoundedMap } from "../../base/bounded-map.ts";
import type { Clock } from "../../base/clock.ts";
import { createLimiter } from "./limit.ts";

/** How much the hosts of join tokens may do on one master. */
export interface JoinLimits {
  /** Hosts of one token at a time. */
  atOnce: number;
  /** Joins of one token that begin in a second. */
  perSecond: number;
  /** Hosts of one source that have proved nothing, whatever tokens they name. */
  unproven: number;
  /** How long such a host keeps its place. */
  unprovenMs: number;
  /** How long one that proved its token keeps it: as long as a challenge lasts. */
  provenMs: number;
  /** How long a source with a wrong proof spends its own budget. */
  disfavorMs: number;
  /** Hosts of all tokens at a time. */
  all: number;
}

export const joinLimits: JoinLimits = {
  ...{ atOnce: 50, perSecond: 20, unproven: 10, unprovenMs: 10_000 },
  ...{ provenMs: 5 * 60_000, disfavorMs: 60_000, all: 1_024 },
};

/** A host that joins at the expense of its token. */
export interface JoinPlace {
  readonly token: string;
  readonly source: string;
}

/** The budgets of join tokens: who names one has proved nothing yet. */
export interface JoinPlaces {
  /**
   * Takes a place for a host that asks for its challenge.
   *
   * @returns `undefined` when its source pays, for whatever reason: what is refused looks the same
   */
  begin(token: string, source: string): JoinPlace | undefined;
  /** Whether it still has its place, so that the token pays for its next request. */
  holds(place: JoinPlace): boolean;
  /** It proved that it has the token. */
  prove(place: JoinPlace): void;
  /** Its proof was wrong: all of its source that proved nothing lose their places, and get none for a while. */
  fail(place: JoinPlace): void;
  /** Its join has ended. */
  end(place: JoinPlace): void;
  /** How many places hosts of a source have that proved nothing. */
  unprovenOf(source: string): number;
  /** How many places are taken. */
  readonly size: number;
}

/** Sources with a wrong proof that are remembered. */
const maxDisfavored = 8_192;

/** @param options.isOpen whether a token admits hosts now, and has uses left */
export function createJoinPlaces(options: {
  isOpen(token: string): boolean;
  limits?: JoinLimits;
  clock: Pick<Clock, "monotonic">;
}): JoinPlaces {
  const { isOpen, limits = joinLimits, clock } = options;
  const rate = createLimiter({ capacity: limits.perSecond, tokensPerSecond: limits.perSecond }, clock);
  const disfavored = createBoundedMap<number>(maxDisfavored);
  // Until when each keeps its place. Within one map all have the same time, so that the first ends first.
  const unproven = new Map<JoinPlace, number>();
  const proven = new Map<JoinPlace, number>();
  const ofToken = createCounts();
  const ofSource = createCounts();
  const end = (place: JoinPlace) => {
    if (unproven.delete(place)) ofSource.remove(place.source);
    else if (!proven.delete(place)) return;
    ofToken.remove(place.token);
  };
  const endOverdue = (now: number) => {
    for (const places of [unproven, proven]) {
      for (const [place, until] of places) {
        if (until > now) break;
        end(place);
      }
    }
  };
  const isWithin = (token: string, source: string, now: number): boolean =>
    isOpen(token) &&
    (disfavored.get(source) ?? now) <= now &&
    ofSource.of(source) < limits.unproven &&
    ofToken.of(token) < limits.atOnce &&
    unproven.size + proven.size < limits.all &&
    // Last: what is refused spends nothing of the others.
    rate.allow(token);
  return {
    begin(token, source) {
      const now = clock.monotonic();
      endOverdue(now);
      if (!isWithin(token, source, now)) return undefined;
      const place = { token, source };
      unproven.set(place, now + limits.unprovenMs);
      ofSource.add(source);
      ofToken.add(token);
      return place;
    },
    holds(place) {
      endOverdue(clock.monotonic());
      return unproven.has(place) || proven.has(place);
    },
    prove(place) {
      const now = clock.monotonic();
      endOverdue(now);
      if (!unproven.delete(place)) return;
      ofSource.remove(place.source);
      proven.set(place, now + limits.provenMs);
    },
    fail(place) {
      disfavored.set(place.source, clock.monotonic() + limits.disfavorMs);
      end(place);
      for (const other of unproven.keys()) if (other.source === place.source) end(other);
    },
    end,
    unprovenOf(source) {
      endOverdue(clock.monotonic());
      return ofSource.of(source);
    },
    get size() {
      endOverdue(clock.monotonic());
      return unproven.size + proven.size;
    },
  };
}

/** Counts by name; a name without any takes no memory. */
function createCounts() {
  const counts = new Map<string, number>();
  const of = (name: string) => counts.get(name) ?? 0;
  return {
    of,
    add: (name: string) => void counts.set(name, of(name) + 1),
    remove(name: string) {
      const left = of(name) - 1;
      if (left > 0) counts.set(name, left);
      else counts.delete(name);
    },
  };
}
