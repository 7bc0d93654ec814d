import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { streamName } from "../../bus/assets/mod.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import {
  type Consumer,
  type ConsumerPosition,
  consume,
  consumerPosition,
  type DeliveredMessage,
  firstSequence,
  removeConsumer,
} from "../../bus/streams/mod.ts";
import { eventSubject, keySubject, returnSubject, scheduleSubject } from "../../bus/subjects/subjects.ts";
import type { Enrollments } from "../enrollment/store/mod.ts";
import {
  type DropCause,
  type Event,
  isComplianceEvent,
  type JobOf,
  type Reading,
  readCompliance,
  readEnrollment,
  readEvent,
  readReturn,
  readScheduled,
} from "./events/mod.ts";
import { createGaps } from "./gaps.ts";
import { maxDeliveries } from "./react.ts";
import { type NeededSources, type SourceName, sourceNames } from "./rules/mod.ts";

const second = 1_000;
/**
 * Acknowledgement timeouts of the bus. An event that is still in progress is redelivered and recognized. An
 * event of a dead master is redelivered to the next one. The bus may first deliver it to a paused master.
 */
const backoffMs = [10, 10, 30, 60, 300].map((s) => s * second) as [number, ...number[]];
/** Messages per source at a time. A return may have 1 MiB. */
const atOnce = 32;

/** How records of enrollments are judged. */
type Judging = Pick<Enrollments, "vouchers">;

interface Source {
  stream: string;
  filter: string;
  read(message: DeliveredMessage, jobOf: JobOf, judging: Judging): Reading | Promise<Reading>;
}

/** A consumer on this server has one filter, so each source has its own consumer. */
const sources: Record<SourceName, Source> = {
  events: { stream: "events", filter: eventSubject("*", ">"), read: readOther },
  returns: { stream: "job-events", filter: returnSubject("*", "*"), read: readReturn },
  schedules: { stream: "job-events", filter: scheduleSubject("*", "*"), read: readScheduled },
  // Of each peel the latest that waits, however many it sends.
  compliance: {
    stream: streamName("compliance"),
    filter: keySubject("compliance", "*"),
    read: readCompliance,
  },
  // The peel indexes have more tokens.
  enrollments: {
    stream: streamName("enrollments"),
    filter: keySubject("enrollments", "*"),
    read: (message, _, judging) => readEnrollment(message, judging),
  },
};

/** An event of the stream, but for those that have a source of their own. */
function readOther(message: DeliveredMessage): Reading {
  return isComplianceEvent(message.subject) ? undefined : readEvent(message);
}

const durableOf = (name: SourceName): string => `reactor-${name}`;

export interface SourcesOptions {
  bus: Bus;
  jobOf: JobOf;
  enrollments: Judging;
  /** Handles an event. Rejects when it must be redelivered. */
  handle(event: Event, deliveries: number): Promise<void>;
  onDropped(cause: DropCause, count: number): void;
  /** @throws when another master runs the reactor now */
  assertTenure(): void;
  log: Log;
}

/**
 * The consumers, which all masters share. Only the holder of the lease pulls from them. The consumer of a source
 * exists while rules need it.
 */
export interface Sources {
  /** Sources that should have been running for this time, but are not. */
  stopped(forMs: number): SourceName[];
  /** Starts the consumers that rules need from now on, and removes those that no rule needs. */
  use(needed: NeededSources): void;
  /** Position of each source. @throws SvcError `storage` */
  positions(): Promise<Partial<Record<SourceName, ConsumerPosition>>>;
  /** Stops pulling. Resolves when all work in progress has ended. */
  stop(): Promise<void>;
}

/** A running source. */
interface Running {
  consumer: Consumer;
  /** By `Clock.monotonic`. */
  startedAt: number;
}

/** The sources of one master. */
interface Consuming {
  readonly options: SourcesOptions;
  readonly running: Map<SourceName, Running>;
  needed: NeededSources;
  stopped: boolean;
}

/** Starts with no source: `use` says which ones are needed. */
export function startSources(options: SourcesOptions): Sources {
  const { bus, log } = options;
  const running = new Map<SourceName, Running>();
  const consuming: Consuming = { options, running, needed: new Map(), stopped: false };
  /** Serializes changes: rules may change faster than consumers. */
  let changing: Promise<unknown> = Promise.resolve();
  return {
    stopped: (forMs) =>
      [...running].flatMap(([name, { consumer, startedAt }]) =>
        consumer.running || bus.clock.monotonic() - startedAt < forMs ? [] : [name],
      ),
    use(news) {
      consuming.needed = news;
      for (const name of sourceNames) {
        changing = changing
          .then(() => adjust(consuming, name))
          .catch((thrown) =>
            // An unread consumer costs nothing. The next change or master tries again.
            log.warn("a source that no rule needs is still there", {
              source: name,
              reason: describeError(thrown),
            }),
          );
      }
    },
    async positions() {
      const found = await Promise.all(
        [...running.keys()].map(async (name) => {
          const position = await consumerPosition(bus, sources[name].stream, durableOf(name));
          return position === undefined ? [] : [[name, position] as const];
        }),
      );
      return Object.fromEntries(found.flat());
    },
    async stop() {
      consuming.stopped = true;
      await Promise.all([...running.values()].map(({ consumer }) => consumer.stop()));
      await changing;
    },
  };
}

/** Starts or removes the consumer of a source. */
async function adjust(consuming: Consuming, name: SourceName): Promise<void> {
  const { options, running, needed, stopped } = consuming;
  const since = needed.get(name);
  if (stopped) return;
  if (since !== undefined) {
    if (!running.has(name)) await start(consuming, name, since);
    return;
  }
  await running.get(name)?.consumer.stop();
  running.delete(name);
  options.assertTenure();
  await removeConsumer(options.bus, sources[name].stream, durableOf(name));
}

/** @param since for a source without a consumer: the time from which its events count */
async function start(consuming: Consuming, name: SourceName, since: number): Promise<void> {
  const { options, running } = consuming;
  const { bus } = options;
  const { stream, filter } = sources[name];
  const gaps = name === "events" ? await followGaps(options) : undefined;
  if (consuming.stopped) return;
  const progress = createProgress(since);
  const consumer = consume(
    bus,
    {
      ...{ stream, durable: durableOf(name), filter, backoffMs, atOnce },
      // The reactor gives up and counts an event, not the server.
      maxDeliveries: 10 * maxDeliveries,
      since: progress.since,
    },
    async (message) => {
      gaps?.(message);
      const done = progress.begin(message);
      await take(options, name, message);
      done();
    },
  );
  running.set(name, { consumer, startedAt: bus.clock.monotonic() });
}

async function take(options: SourcesOptions, name: SourceName, message: DeliveredMessage): Promise<void> {
  const reading = await sources[name].read(message, options.jobOf, options.enrollments);
  if (reading === undefined) return;
  if ("event" in reading) return options.handle(reading.event, message.deliveries);
  const { dropped: cause, reason } = reading;
  options.onDropped(cause, 1);
  options.log.debug("event dropped", { subject: message.subject, cause, reason });
}

/**
 * Tracks the progress of a source by the storage times of its messages. If a master that has lost the lease
 * unknowingly removes the consumer, the next consumer starts from there.
 */
function createProgress(since: number): {
  since(): number;
  /** @returns a function to call when the message is finished */
  begin(message: DeliveredMessage): () => void;
} {
  const open = new Map<number, number>();
  /** Messages that waited for a previous master may be older than `since`. */
  let last: number | undefined;
  return {
    since: () => Math.min(last ?? since, ...open.values()),
    begin({ sequence, storedAt }) {
      open.set(sequence, storedAt);
      last = Math.max(last ?? storedAt, storedAt);
      return () => open.delete(sequence);
    },
  };
}

/** Counts events that left their stream unread, starting from the consumer's position before the first pull. */
async function followGaps({
  bus,
  onDropped,
  log,
}: SourcesOptions): Promise<(message: DeliveredMessage) => void> {
  const { stream } = sources.events;
  const warn = (thrown: unknown) => {
    log.warn("events that expired unread are not counted", { reason: describeError(thrown) });
  };
  const first = () => firstSequence(bus, stream);
  try {
    const position = await consumerPosition(bus, stream, durableOf("events"));
    const gaps = createGaps({
      // Without a consumer no rule was for the events before.
      delivered: position?.delivered,
      first,
      onLost(count) {
        onDropped("expired", count);
        log.error("events expired before they were read", { events: count });
      },
    });
    return ({ sequence, deliveries }) => {
      gaps.note(sequence, deliveries).catch(warn);
    };
  } catch (thrown) {
    warn(thrown);
    return () => {};
  }
}
