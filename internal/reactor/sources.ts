import { describeError } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import { streamName } from "../bus/assets.ts";
import type { Bus } from "../bus/connect.ts";
import { type Consumer, consume, type DeliveredMessage } from "../bus/consumer.ts";
import { type ConsumerPosition, consumerPosition, firstSequence } from "../bus/position.ts";
import { eventSubject, keySubject, returnSubject, scheduleSubject } from "../bus/subjects.ts";
import type { DropCause } from "./drop.ts";
import type { Event } from "./event.ts";
import { createGaps } from "./gaps.ts";
import type { JobOf } from "./job-lookup.ts";
import { mostDeliveries } from "./react.ts";
import { type Reading, readEnrollment, readEvent, readReturn, readScheduled } from "./read-event.ts";

const second = 1_000;
/**
 * How long the bus waits for a word about an event. One that is still in hand then comes again and is known;
 * one whose master died comes again to the next. The bus may first hand it to one that is paused.
 */
const backoffMs = [10, 10, 30, 60, 300].map((s) => s * second) as [number, ...number[]];
/** Of each source at a time; a return may have a mebibyte. */
const atOnce = 32;

/** Where events come from. A consumer of this server has one filter, so that each has its own. */
export const sourceNames = ["events", "returns", "schedules", "enrollments"] as const;
export type SourceName = (typeof sourceNames)[number];

interface Source {
  stream: string;
  filter: string;
  read(message: DeliveredMessage, jobOf: JobOf): Reading | Promise<Reading>;
}

const sources: Record<SourceName, Source> = {
  events: { stream: "events", filter: eventSubject("*", ">"), read: readEvent },
  returns: { stream: "job-events", filter: returnSubject("*", "*"), read: readReturn },
  schedules: { stream: "job-events", filter: scheduleSubject("*", "*"), read: readScheduled },
  // The indexes of peels lie deeper.
  enrollments: {
    stream: streamName("enrollments"),
    filter: keySubject("enrollments", "*"),
    read: readEnrollment,
  },
};

const durableOf = (name: SourceName): string => `reactor-${name}`;

export interface SourcesOptions {
  bus: Bus;
  jobOf: JobOf;
  /** Handles an event; rejects when it has to come again. */
  handle(event: Event, deliveries: number): Promise<void>;
  onDropped(cause: DropCause, count: number): void;
  log: Log;
}

/** The four consumers that all masters share, and of which the holder of the lease alone asks for more. */
export interface Sources {
  /** Those that do not run. */
  stopped(): SourceName[];
  /** How far each is. @throws SvcError `storage` */
  positions(): Promise<Partial<Record<SourceName, ConsumerPosition>>>;
  /** Stops asking; resolves when what was begun has ended. */
  stop(): Promise<void>;
}

/** Starts the consumers. */
export async function startSources(options: SourcesOptions): Promise<Sources> {
  const { bus, jobOf, log } = options;
  const gaps = await followGaps(options);

  const take = async (name: SourceName, message: DeliveredMessage) => {
    const reading = await sources[name].read(message, jobOf);
    if (reading === undefined) return;
    if ("event" in reading) return options.handle(reading.event, message.deliveries);
    options.onDropped(reading.dropped, 1);
    const { subject } = message;
    log.debug("event dropped", { subject, cause: reading.dropped, reason: reading.reason });
  };
  const consumers: Record<SourceName, Consumer> = Object.fromEntries(
    sourceNames.map((name) => {
      const { stream, filter } = sources[name];
      const consumer = consume(
        bus,
        // Who gives an event up counts it, and that is not the server.
        { stream, durable: durableOf(name), filter, backoffMs, maxDeliveries: 10 * mostDeliveries, atOnce },
        (message) => {
          if (name === "events") gaps(message);
          return take(name, message);
        },
      );
      return [name, consumer];
    }),
  ) as Record<SourceName, Consumer>;
  return {
    stopped: () => sourceNames.filter((name) => !consumers[name].running),
    async positions() {
      const found = await Promise.all(
        sourceNames.map(async (name) => {
          const position = await consumerPosition(bus, sources[name].stream, durableOf(name));
          return position === undefined ? [] : [[name, position] as const];
        }),
      );
      return Object.fromEntries(found.flat());
    },
    async stop() {
      await Promise.all(Object.values(consumers).map((consumer) => consumer.stop()));
    },
  };
}

/** Counts events that left their stream unread, from where the consumer was before this master asks for more. */
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
      // What was before the first reactor of this fleet was nobody's to read.
      delivered: position?.delivered ?? (await first()) - 1,
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
