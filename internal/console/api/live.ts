import { computed, type ReadonlySignal, signal } from "@preact/signals";
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

/** Whether a page follows the fleet. */
export interface Standing {
  /**
   * Since when neither a master nor the bus behind it answers, milliseconds since the Unix epoch; `undefined` while
   * they do.
   */
  readonly brokenSince: ReadonlySignal<number | undefined>;
  /** Whether the stream is open, and they answered on it. */
  readonly isLive: ReadonlySignal<boolean>;
}

/** What happens in the fleet, as one stream. */
export interface Live extends Standing {
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
   * @param instead how that of the page is
   * @returns what opens it again, after the last event that it reported
   */
  rest(instead?: Standing): () => void;
  /** For a session without a stream: whether a master and its bus answered a request. */
  note(answered: boolean): void;
}

const pauseMs = 100;
/** A tab in the background is woken rarely: what arrives meanwhile is not kept without end. */
const maxQueued = 10_000;
const retryMs = 2_000;
/** A stream that is cut off for less is not worth a word. */
const patienceMs = 1_500;
/** Masters send something every 2 seconds while their bus answers. */
const maxSilenceMs = 7_000;

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
  const own = createStanding(clock);
  const instead = signal<Standing | undefined>(undefined);
  const returns = signal(0);
  const reports = createReports(clock, () => void returns.value++);
  let source: Source | undefined;
  let position: string | undefined;
  let retrying: Timer | undefined;
  let isStarted = false;
  let resting = 0;
  const answered = () => void (own.answered() && returns.value++);

  const connect = () => {
    retrying = undefined;
    source?.close();
    own.begins();
    // The browser itself names the last event when it continues; after it gave up, the address does.
    const opened = open(position);
    source = opened;
    opened.addEventListener("gap", () => void returns.value++);
    opened.addEventListener("open", own.opened);
    opened.addEventListener("alive", answered);
    opened.addEventListener("error", () => {
      own.failed();
      if (opened.readyState !== sourceStates.closed) return;
      onRefused();
      retrying ??= clock.after(retryMs, connect);
    });
    opened.addEventListener("event", ({ data }) => {
      const event = JSON.parse(String(data)) as ShownEvent;
      position = event.position;
      answered();
      reports.take(event);
    });
  };
  const close = () => {
    retrying?.cancel();
    retrying = undefined;
    own.ends();
    source?.close();
    source = undefined;
    // The next stream begins behind what arrived: it would not repeat that.
    reports.flush();
  };
  return {
    brokenSince: computed(() => (instead.value ?? own).brokenSince.value),
    isLive: computed(() => (instead.value ?? own).isLive.value),
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
    rest(other) {
      resting++;
      close();
      own.forget();
      if (other !== undefined) instead.value = other;
      return () => {
        resting--;
        if (other !== undefined) instead.value = undefined;
        if (!isStarted || resting > 0 || source !== undefined) return;
        returns.value++;
        connect();
      };
    },
    note: (isAnswer) => (isAnswer ? answered() : own.failed()),
  };
}

/** Judges by what arrives whether a page follows the fleet. */
function createStanding(clock: Clock) {
  const brokenSince = signal<number | undefined>(undefined);
  const isLive = signal(false);
  let answeredAt = clock.now();
  let silence: Timer | undefined;
  let worrying: Timer | undefined;
  const broken = (at: number) => {
    isLive.value = false;
    brokenSince.value ??= at;
  };
  const waitForMore = () => {
    silence?.cancel();
    silence = clock.after(maxSilenceMs, () => broken(answeredAt));
  };
  const calm = () => {
    worrying?.cancel();
    worrying = undefined;
  };
  return {
    ...{ brokenSince, isLive },
    /** A stream is being opened. */
    begins() {
      if (silence !== undefined) return;
      answeredAt = clock.now();
      waitForMore();
    },
    /** A master took it. That alone does not end an outage: it may have no bus. */
    opened() {
      calm();
      if (brokenSince.value === undefined) isLive.value = true;
    },
    failed() {
      const at = clock.now();
      worrying ??= clock.after(patienceMs, () => broken(at));
    },
    /** @returns whether that ended an outage */
    answered(): boolean {
      calm();
      answeredAt = clock.now();
      waitForMore();
      const wasBroken = brokenSince.value !== undefined;
      brokenSince.value = undefined;
      isLive.value = true;
      return wasBroken;
    },
    /** Nothing is expected any more. */
    ends() {
      calm();
      silence?.cancel();
      silence = undefined;
      isLive.value = false;
    },
    forget() {
      brokenSince.value = undefined;
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
