import type { Clock, Timer } from "../../base/clock.ts";
import type { ShownEvent } from "../../fleet/events/mod.ts";
import { ApiError } from "./error.ts";
import type { Live } from "./live.ts";

/** How something is read. */
export interface Reading<T> {
  /** Reads all of it. */
  load(signal: AbortSignal): Promise<T>;
  /**
   * Reads only what events changed. Without it, or when it resolves with `undefined`, all of it is read.
   *
   * @param events at most 5,000
   */
  change?(before: T, events: readonly ShownEvent[], signal: AbortSignal): Promise<T | undefined>;
  /** Every 15 seconds, instead of all of it: what is looked at, and the next part of the rest. */
  renew?(before: T, signal: AbortSignal): Promise<T | undefined>;
}

/** What the next read must bring. */
interface Due {
  all: boolean;
  renew: boolean;
  events: readonly ShownEvent[];
}

/** What keeps something true until it ends. */
export interface Reader {
  /** Reads all of it now. */
  reload(): void;
  end(): void;
}

/** Events come in bursts: what depends on them is read again at most this often. */
const calmMs = 1_000;
/** What takes long is read less often, so that a tab costs masters at most a fifth of the time. */
const calmPerRead = 4;
/** Reading again is cheap for masters, and keeps pages true for those who may not read events. */
const everyMs = 15_000;
/** More than these say only that much has changed. */
const maxEvents = 5_000;

/**
 * Reads something now, again when events say that it changed, when the stream of events comes back, and every 15
 * seconds. One read is under way at a time.
 *
 * @param how asked for each read, as it changes with the page
 * @param on beginnings of tags of events that change it
 */
export function startReader<T>(options: {
  clock: Clock;
  live: Pick<Live, "on" | "returns">;
  how(): Reading<T>;
  on: readonly string[];
  onValue(value: T): void;
  onProblem(problem: ApiError): void;
}): Reader {
  const { clock, live, on } = options;
  const over = new AbortController();
  const { signal } = over;
  let known: { value: T } | undefined;
  let isReading = false;
  let due: Due | undefined;
  let wait: Timer | undefined;
  const pace = createPace(clock);

  const read = async () => {
    if (isReading || due === undefined) return;
    const now = due;
    due = undefined;
    wait?.cancel();
    wait = undefined;
    isReading = true;
    pace.begins();
    try {
      const value = await readDue(options.how(), known?.value, now, signal);
      if (signal.aborted) return;
      known = { value };
      options.onValue(value);
    } catch (thrown) {
      if (signal.aborted) return;
      // What these events changed is not known now.
      known = undefined;
      options.onProblem(thrown instanceof ApiError ? thrown : new ApiError(0, String(thrown)));
    } finally {
      isReading = false;
      pace.ends();
      if (due !== undefined && !signal.aborted) soon();
    }
  };
  const soon = () => {
    if (isReading) return;
    wait ??= clock.after(pace.restMs(), read);
  };
  const readSoon = (more: Partial<Due>) => {
    due = withDue(due, more);
    soon();
  };
  const reload = () => {
    due = withDue(due, { all: true });
    void read();
  };
  reload();
  const seen = live.returns.peek();
  const timer = clock.every(everyMs, () => {
    due = withDue(due, { renew: true });
    if (wait === undefined) void read();
  });
  const ends = [
    on.length === 0 ? () => {} : live.on(on, (events) => readSoon({ events })),
    live.returns.subscribe((count) => {
      if (count === seen) return;
      pace.forget();
      wait?.cancel();
      wait = undefined;
      readSoon({ all: true });
    }),
  ];
  return {
    reload,
    end() {
      over.abort();
      wait?.cancel();
      timer.cancel();
      for (const end of ends) end();
    },
  };
}

/** How long a reader rests between two reads: longer behind one that took long. */
function createPace(clock: Pick<Clock, "monotonic">) {
  let began: number | undefined;
  let tookMs = 0;
  return {
    begins() {
      began = clock.monotonic();
    },
    ends() {
      tookMs = began === undefined ? 0 : clock.monotonic() - began;
      began = undefined;
    },
    /** How long it took during an outage says nothing about now. */
    forget() {
      began = undefined;
      tookMs = 0;
    },
    restMs: () => Math.min(Math.max(calmMs, calmPerRead * tookMs), everyMs),
  };
}

/** What is due, with more of it. */
function withDue(
  { all, renew, events }: Due = { all: false, renew: false, events: [] },
  more: Partial<Due>,
): Due {
  const { all: wholly = false, renew: again = false, events: others = [] } = more;
  const isAll = all || wholly || events.length + others.length > maxEvents;
  return { all: isAll, renew: renew || again, events: isAll ? [] : [...events, ...others] };
}

/** Reads what is due, as cheaply as `how` can. */
async function readDue<T>(
  how: Reading<T>,
  known: T | undefined,
  { all, renew, events }: Due,
  signal: AbortSignal,
): Promise<T> {
  let value = all ? undefined : known;
  if (value !== undefined && events.length > 0) value = await how.change?.(value, events, signal);
  if (value !== undefined && renew) value = await how.renew?.(value, signal);
  return value ?? how.load(signal);
}
