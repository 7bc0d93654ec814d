import { type ReadonlySignal, signal } from "@preact/signals";
import type { Clock, Timer } from "../../base/clock.ts";
import type { ShownEvent } from "../../fleet/events/mod.ts";

/** What a page needs of an `EventSource`. */
export interface Source {
  readonly readyState: number;
  addEventListener(type: string, run: (event: MessageEvent) => void): void;
  close(): void;
}

/** The states of a stream, as `EventSource` numbers them. */
export const sourceStates = { connecting: 0, open: 1, closed: 2 } as const;

/**
 * The address of a stream of events.
 *
 * @param after the position behind which it begins
 * @param query further fields
 */
export function eventsPath(after: string | undefined, query = new URLSearchParams()): string {
  const all = new URLSearchParams([...(after === undefined ? [] : [["after", after]]), ...query]);
  return all.size === 0 ? "/api/v1/events" : `/api/v1/events?${all}`;
}

/** What happens in the fleet, as one stream. */
export interface Live {
  /** Since when nothing arrives, milliseconds since the Unix epoch; `undefined` while the stream is open. */
  readonly brokenSince: ReadonlySignal<number | undefined>;
  /** Counts how often the stream came back, or sent more than is kept: what was read before may be old. */
  readonly returns: ReadonlySignal<number>;
  /**
   * Tells events whose tag begins with one of these, together, at most ten times a second.
   *
   * @returns what ends it
   */
  on(tags: readonly string[], run: (events: readonly ShownEvent[]) => void): () => void;
  start(): void;
  stop(): void;
  /**
   * A page has a stream of its own: this one closes meanwhile, so that the tab has one.
   *
   * @returns what opens it again, after the last event that it reported
   */
  rest(): () => void;
}

const pauseMs = 100;
/** A tab in the background is woken rarely: what arrives meanwhile is not kept without end. */
const maxQueued = 10_000;
const retryMs = 2_000;
/** A stream that is cut off for less is not worth a word. */
const patienceMs = 1_500;

/**
 * @param options.open opens the stream behind a position; `gap` among its events says that something may be missing
 * @param options.onRefused the browser gave up: the session may have ended
 */
export function createLive(options: {
  clock: Clock;
  open(after: string | undefined): Source;
  onRefused(): void;
}): Live {
  const { clock, open, onRefused } = options;
  const brokenSince = signal<number | undefined>(undefined);
  const returns = signal(0);
  const reports = createReports(clock, () => void returns.value++);
  let source: Source | undefined;
  let position: string | undefined;
  let retrying: Timer | undefined;
  let worrying: Timer | undefined;
  let isStarted = false;
  let resting = 0;

  const connect = () => {
    retrying = undefined;
    source?.close();
    // The browser itself names the last event when it continues; after it gave up, the address does.
    const opened = open(position);
    source = opened;
    opened.addEventListener("gap", () => void returns.value++);
    opened.addEventListener("open", () => {
      worrying?.cancel();
      worrying = undefined;
      if (brokenSince.value !== undefined) returns.value++;
      brokenSince.value = undefined;
    });
    opened.addEventListener("error", () => {
      const at = clock.now();
      worrying ??= clock.after(patienceMs, () => {
        brokenSince.value ??= at;
      });
      if (opened.readyState !== sourceStates.closed) return;
      onRefused();
      retrying ??= clock.after(retryMs, connect);
    });
    opened.addEventListener("event", ({ data }) => {
      const event = JSON.parse(String(data)) as ShownEvent;
      position = event.position;
      reports.take(event);
    });
  };
  const close = () => {
    for (const timer of [retrying, worrying]) timer?.cancel();
    retrying = worrying = undefined;
    source?.close();
    source = undefined;
    // The next stream begins behind what arrived: it would not repeat that.
    reports.flush();
  };
  return {
    brokenSince,
    returns,
    on: reports.on,
    start() {
      isStarted = true;
      if (source === undefined && resting === 0) connect();
    },
    stop() {
      isStarted = false;
      close();
    },
    rest() {
      resting++;
      close();
      brokenSince.value = undefined;
      return () => {
        resting--;
        if (!isStarted || resting > 0 || source !== undefined) return;
        returns.value++;
        connect();
      };
    },
  };
}

/**
 * Gathers what arrives, and reports it to the listeners that it concerns.
 *
 * @param onLost more arrived than is kept: what was read before may be old
 */
function createReports(clock: Clock, onLost: () => void) {
  const listeners = new Set<{ tags: readonly string[]; run(events: readonly ShownEvent[]): void }>();
  let queue: ShownEvent[] = [];
  let isTooMuch = false;
  let waiting: Timer | undefined;
  const report = () => {
    waiting = undefined;
    const events = queue;
    queue = [];
    if (isTooMuch) onLost();
    isTooMuch = false;
    for (const { tags, run } of listeners) {
      const meant = events.filter(({ tag }) => tags.some((start) => tag.startsWith(start)));
      if (meant.length > 0) run(meant);
    }
  };
  return {
    on(tags: readonly string[], run: (events: readonly ShownEvent[]) => void) {
      const listener = { tags, run };
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    take(event: ShownEvent) {
      queue.push(event);
      if (queue.length > maxQueued) {
        queue = queue.slice(-maxQueued / 2);
        isTooMuch = true;
      }
      waiting ??= clock.after(pauseMs, report);
    },
    /** Reports at once what waits. */
    flush() {
      if (waiting === undefined) return;
      waiting.cancel();
      report();
    },
  };
}
