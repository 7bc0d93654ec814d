import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { assets, streamName } from "../../bus/assets.ts";
import type { Bus } from "../../bus/connect.ts";
import { type Consumer, consume, type DeliveredMessage, removeConsumer } from "../../bus/consumer.ts";
import { type ConsumerPosition, consumerPosition, firstSequence, removeHandled } from "../../bus/position.ts";
import { eventSubject, keySubject, returnSubject, scheduleSubject } from "../../bus/subjects.ts";
import type { DropCause } from "./drop.ts";
import type { Event } from "./event.ts";
import { createGaps } from "./gaps.ts";
import type { JobOf } from "./job-lookup.ts";
import { type NeededSources, type OptionalSource, optionalSources } from "./needed-sources.ts";
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
  /** @throws when another master reacts by now */
  assertTenure(): void;
  log: Log;
}

/**
 * The consumers that all masters share, and of which the holder of the lease alone asks for more: that of
 * an optional source is there while rules need it.
 */
export interface Sources {
  /** Those that should have run for so long, and do not. */
  stopped(forMs: number): SourceName[];
  /** Begins to read what rules need from now on, and takes the consumers away that none needs. */
  use(needed: NeededSources): void;
  /** How far each is. @throws SvcError `storage` */
  positions(): Promise<Partial<Record<SourceName, ConsumerPosition>>>;
  /**
   * Makes room for events of others when one peel says very many: what was handled goes.
   *
   * @throws SvcError `storage`
   */
  makeRoom(): Promise<void>;
  /** Stops asking; resolves when what was begun has ended. */
  stop(): Promise<void>;
}

/** A source that is read. */
interface Running {
  consumer: Consumer;
  /** By `Clock.monotonic`. */
  startedAt: number;
}

/** Starts the consumers of what is always read. */
export async function startSources(options: SourcesOptions): Promise<Sources> {
  const { bus, jobOf, log } = options;
  const gaps = await followGaps(options);
  const running = new Map<SourceName, Running>();
  let needed: NeededSources = new Map();
  let stopped = false;
  /** One change after the other: rules may come and go faster than consumers. */
  let changing: Promise<unknown> = Promise.resolve();

  const take = async (name: SourceName, message: DeliveredMessage) => {
    const reading = await sources[name].read(message, jobOf);
    if (reading === undefined) return;
    if ("event" in reading) return options.handle(reading.event, message.deliveries);
    options.onDropped(reading.dropped, 1);
    const { subject } = message;
    log.debug("event dropped", { subject, cause: reading.dropped, reason: reading.reason });
  };
  /** @param since for an optional source: from when on its events count when it was not read before */
  const start = (name: SourceName, since?: number) => {
    const { stream, filter } = sources[name];
    const progress = createProgress(since ?? 0);
    const consumer = consume(
      bus,
      {
        ...{ stream, durable: durableOf(name), filter, backoffMs, atOnce },
        // Who gives an event up counts it, and that is not the server.
        maxDeliveries: 10 * mostDeliveries,
        ...(since === undefined ? {} : { since: progress.since }),
      },
      async (message) => {
        if (name === "events") gaps(message);
        const done = progress.begin(message);
        await take(name, message);
        done();
      },
    );
    running.set(name, { consumer, startedAt: bus.clock.monotonic() });
  };
  const adjust = async (name: OptionalSource) => {
    const since = needed.get(name);
    if (stopped) return;
    if (since !== undefined) {
      if (!running.has(name)) start(name, since);
      return;
    }
    await running.get(name)?.consumer.stop();
    running.delete(name);
    options.assertTenure();
    await removeConsumer(bus, sources[name].stream, durableOf(name));
  };

  for (const name of sourceNames) if (!optionalSources.some((optional) => optional === name)) start(name);
  return {
    stopped: (forMs) =>
      [...running].flatMap(([name, { consumer, startedAt }]) =>
        consumer.running || bus.clock.monotonic() - startedAt < forMs ? [] : [name],
      ),
    use(news) {
      needed = news;
      for (const name of optionalSources) {
        changing = changing
          .then(() => adjust(name))
          .catch((thrown) =>
            // It is read by nobody then, which costs nothing; the next change or master tries again.
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
    async makeRoom() {
      const { stream } = sources.events;
      options.assertTenure();
      const events = await removeHandled(bus, stream, durableOf("events"), assets.events.maxBytes / 2);
      if (events > 0) log.warn("very many events: those that were handled are removed", { events });
    },
    async stop() {
      stopped = true;
      await Promise.all([...running.values()].map(({ consumer }) => consumer.stop()));
      await changing;
    },
  };
}

/**
 * How far the reading of a source is, by the times its messages were stored. Should its consumer be taken
 * away by a master that does not know yet that it does not react any more, the next one begins there.
 */
function createProgress(since: number): {
  since(): number;
  /** @returns called when the message is over */
  begin(message: DeliveredMessage): () => void;
} {
  const open = new Map<number, number>();
  /** What waited for a master before this one may be older than `since`. */
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
