import type { Clock } from "../../../base/clock.ts";
import { SvcError } from "../../../base/errors.ts";
import { siteOf } from "../../../base/names/ip-network.ts";
import type { Directory, PendingCount } from "../store/mod.ts";
import { createOccupy, type Occupy, type OccupyOptions } from "./occupy.ts";

const retryAfterMs = 60_000;
/** A record that was stored is in the directory long before; then the place is not counted twice. */
const seenWithinMs = 10_000;

/** A record that is about to be stored, and needs room. */
export interface Newcomer {
  /** From where the host asks, if it is known. */
  address: string | undefined;
  /** It stays pending. */
  waits: boolean;
  /** It proved itself: it needs none of the places, and has some of the room in the bucket before others. */
  proven: boolean;
}

/** The places for pending enrollments: strangers fill them, so there is a last one. */
export interface PendingTable {
  /**
   * Takes a place for a new record. Give it back when the record is stored or refused. A host that proved itself is
   * never refused because of those who did not: only the bucket must have room for it.
   *
   * @throws SvcError `unavailable` with a time to come again when there is none
   */
  take(newcomer: Newcomer): Promise<Place>;
}

export interface Place {
  readonly occupy: Occupy;
  /** @param stored the id of the record; absent when it was not stored */
  giveBack(stored?: string): void;
}

/**
 * Newcomers do not fill the rest of the bucket: decisions are stored there too, and make records longer. Those who
 * proved nothing leave room for those who did.
 */
const openPart = { anyone: 0.75, proven: 0.875 } as const;
/** More than a new record and its index take: a submission is at most 4 KiB. */
const largestBytes = 8 * 1024;
/** How many enrollments one measurement serves, and for how long, while there is room. */
const measuredFor = { enrollments: 64, ms: 1_000 };

/** What was pending and stored at one moment, and what was admitted since. */
interface Measured {
  held: Promise<{ bytes: number; maxBytes: number } | undefined>;
  /** Including those under way that take a place. */
  pending: number;
  underWay: number;
  admitted: { all: number; places: number };
  /** On the monotonic clock. */
  at: number;
}

/** An enrollment that the directory does not know yet, and until when it counts. */
interface UnderWay {
  takesPlace: boolean;
  site: string | undefined;
  stored?: string;
  until: number;
}

const refusals = {
  full: "too many enrollments are pending: try again later, or join with a token",
  site: "too many enrollments from this address are pending: try again when an operator decided on them, or join with a token",
} as const;

const needsPlace = ({ waits, proven }: Newcomer): boolean => waits && !proven;

/** How many of the places one source may hold: no stranger alone keeps all others out. */
const placesOfSource = (max: number): number => Math.ceil(max / 10);

/** Why a record that was stored does not stay; `undefined` when it does. */
function refusalOf(pending: PendingCount, max: number): string | undefined {
  if (pending.all > max) return refusals.full;
  return pending.ofSite > placesOfSource(max) ? refusals.site : undefined;
}

/** Whether the bucket takes one more of the largest. */
function hasRoom(now: Measured, held: Awaited<Measured["held"]>, { proven }: Newcomer): boolean {
  if (held === undefined || held.maxBytes < 0) return true;
  const part = proven ? openPart.proven : openPart.anyone;
  return held.bytes + (now.underWay + now.admitted.all + 1) * largestBytes <= held.maxBytes * part;
}

export interface PendingTableOptions {
  directory: Pick<Directory, "countByState" | "knows" | "countPendingOf"> & OccupyOptions["directory"];
  /** How many enrollments may be pending in the fleet. */
  max: number;
  /** What the bucket of the records holds and may hold, negative for any number; `undefined` when not known. */
  space(): Promise<{ bytes: number; maxBytes: number } | undefined>;
  metrics: { pendingTableFull(): void };
  clock: Clock;
}

export function createPendingTable(options: PendingTableOptions): PendingTable {
  const { directory, max, space, metrics, clock } = options;
  const underWay = new Map<symbol, UnderWay>();
  // It was decided about already, or counts as pending.
  const isKnown = ({ stored }: UnderWay) => stored !== undefined && directory.knows(stored);
  const forgetKnown = () => {
    const now = clock.monotonic();
    for (const [place, one] of underWay) if (isKnown(one) || one.until <= now) underWay.delete(place);
  };
  let measured: Measured | undefined;
  const measureAgain = (): Measured => {
    const now = clock.monotonic();
    forgetKnown();
    const places = [...underWay.values()].filter(({ takesPlace }) => takesPlace).length;
    const fresh: Measured = {
      ...{ held: space(), pending: directory.countByState().pending + places },
      ...{ underWay: underWay.size, admitted: { all: 0, places: 0 }, at: now },
    };
    fresh.held.catch(() => {
      if (measured === fresh) measured = undefined;
    });
    measured = fresh;
    return fresh;
  };
  /** What was measured a moment ago, or now. */
  const measure = (): Measured => {
    const isFresh =
      measured !== undefined &&
      measured.admitted.all < measuredFor.enrollments &&
      clock.monotonic() - measured.at < measuredFor.ms;
    return isFresh && measured !== undefined ? measured : measureAgain();
  };
  const countOf = (site: string): number =>
    directory.countPendingOf(site) +
    [...underWay.values()].filter((one) => one.takesPlace && one.site === site && !isKnown(one)).length;
  const isFull = (now: Measured, held: Awaited<Measured["held"]>, one: Newcomer) =>
    (needsPlace(one) && now.pending + now.admitted.places >= max) || !hasRoom(now, held, one);
  const refuse = (message: string): never => {
    metrics.pendingTableFull();
    throw new SvcError("unavailable", message, { retryAfterMs });
  };
  const occupy = createOccupy({ directory, clock, refuse, refusalOf: (pending) => refusalOf(pending, max) });
  return {
    async take(newcomer) {
      // Nothing may happen between the check and the admission.
      let now = measure();
      let held = await now.held;
      if (isFull(now, held, newcomer)) {
        // An estimate refuses nobody.
        now = measureAgain();
        held = await now.held;
      }
      if (isFull(now, held, newcomer)) {
        refuse(refusals.full);
      }
      const { address } = newcomer;
      const site = address === undefined ? undefined : siteOf(address);
      const takesPlace = needsPlace(newcomer);
      if (takesPlace && site !== undefined && countOf(site) >= placesOfSource(max)) {
        forgetKnown();
        refuse(refusals.site);
      }
      const place = Symbol();
      underWay.set(place, { takesPlace, site, until: Number.POSITIVE_INFINITY });
      now.admitted.all++;
      if (takesPlace) now.admitted.places++;
      return {
        occupy: takesPlace ? occupy : (_, store) => store(),
        giveBack(stored) {
          if (stored === undefined) underWay.delete(place);
          else underWay.set(place, { takesPlace, site, stored, until: clock.monotonic() + seenWithinMs });
        },
      };
    },
  };
}
