import { formatAddress } from "../../base/address.ts";
import { createBackoff } from "../../base/backoff.ts";
import { type Clock, sleep, untilAborted } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { type Bus, placeOf } from "../../bus/mod.ts";
import { MetObstacle } from "./obstacle.ts";

const pauses = { firstMs: 1_000, longestMs: 30_000 };

/** A peel's connection to the bus. It can move to other servers at any time, transparently for its users. */
export interface Connection {
  readonly connected: boolean;
  /** The configured servers. */
  readonly urls: readonly string[];
  /** Whether it is connected to one of these servers, or was before it broke. */
  isAt(urls: readonly string[]): boolean;
  /** @throws on timeout, or when the bus is unreachable */
  request(subject: string, data: Uint8Array, timeoutMs: number): Promise<Uint8Array>;
  /** Resolves when the server has confirmed all messages sent so far. */
  flush(): Promise<void>;
  /** Publishes a message. It is lost when not connected. */
  publish(subject: string, data: Uint8Array): void;
  /** Subscribes on this connection and on every later one. */
  subscribe(subject: string, onMessage: (subject: string, data: Uint8Array) => void): void;
  /** Calls `run` now if connected, and after each reconnect. Returns a function that stops this. */
  onConnect(run: () => void): () => void;
  /**
   * Connects to other servers, moves all subscriptions and closes the old connection. If none of the servers
   * accepts this peel, the old connection stays.
   *
   * @returns whether it moved
   */
  repoint(urls: readonly string[]): Promise<boolean>;
  /**
   * Connects to the same servers in another way, as `repoint` does, and leaves the old connection only after
   * `taken` returned: what the new connection needs is then on disk.
   *
   * @throws why it did not change: the servers refused, or `taken` threw. The old connection stays
   */
  reopen(open: (urls: readonly string[]) => Promise<Bus>, taken: () => void): Promise<void>;
  /** Gives the connection up, and opens another with what is on disk by then. It tries until that succeeds. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

export interface ConnectionOptions {
  first: { bus: Bus; urls: readonly string[] };
  /** Tries to connect once. @throws when none of the servers accepts this peel */
  open(urls: readonly string[]): Promise<Bus>;
  clock: Clock;
  jitter: () => number;
  log: Log;
}

interface Live {
  bus: Bus;
  urls: readonly string[];
  /** Requests that wait for their answers. */
  asked: Set<Promise<unknown>>;
}

interface Subscription {
  subject: string;
  onMessage: (subject: string, data: Uint8Array) => void;
}

export function createConnection(options: ConnectionOptions): Connection {
  const { open, clock, jitter, log } = options;
  const subscriptions: Subscription[] = [];
  const connectListeners = new Set<() => void>();
  const stopping = new AbortController();
  let current: Live = { ...options.first, asked: new Set() };
  let moving: Promise<unknown> = Promise.resolve();
  let closing: Promise<unknown> = Promise.resolve();

  const listen = (bus: Bus, { subject, onMessage }: Subscription) => {
    bus.nats.subscribe(subject, {
      callback(error, message) {
        if (error !== null) return log.warn("subscription error", { subject, error });
        onMessage(message.subject, message.data);
      },
    });
  };
  const announce = () => {
    for (const run of connectListeners) run();
  };
  const watch = (bus: Bus) => {
    bus.onReconnect(() => {
      if (current.bus === bus) announce();
    });
    // The client library gives up permanently after some errors. A peel does not.
    void bus.closed.then(async (reason) => {
      if (current.bus !== bus || stopping.signal.aborted) return;
      log.warn("bus connection lost for good; opening another", { reason: describeError(reason) });
      const backoff = createBackoff({ ...pauses, jitter });
      for (;;) {
        try {
          await sleep(clock, backoff.next(), stopping.signal);
        } catch {
          return;
        }
        if (current.bus !== bus || (await repoint(current.urls))) return;
      }
    });
  };

  /** @throws why the connection stays where it is */
  const change = async (
    urls: readonly string[],
    openNext: (urls: readonly string[]) => Promise<Bus>,
    taken: () => void,
  ): Promise<void> => {
    stopping.signal.throwIfAborted();
    const bus = await openNext(urls);
    try {
      stopping.signal.throwIfAborted();
      // Subscribe there before leaving here. A command may arrive twice, and runs once. None is missed.
      for (const subscription of subscriptions) listen(bus, subscription);
      await bus.nats.flush();
      taken();
    } catch (thrown) {
      await bus.nats.close();
      throw thrown;
    }
    const old = current;
    current = { bus, urls, asked: new Set() };
    watch(bus);
    closing = Promise.all([closing, leave(old, stopping.signal)]).catch(() => {});
    log.info("bus connection moved", { urls });
    announce();
  };
  const move = async (urls: readonly string[]): Promise<boolean> => {
    try {
      await change(urls, open, () => {});
      return true;
    } catch (thrown) {
      if (stopping.signal.aborted) return false;
      const level = thrown instanceof MetObstacle ? "debug" : "warn";
      log[level]("bus not reachable at other servers", { urls, error: describeError(thrown) });
      return false;
    }
  };
  const repoint = (urls: readonly string[]): Promise<boolean> => {
    const moved = moving.then(() => move(urls));
    moving = moved.catch(() => {});
    return moved;
  };
  const reopen: Connection["reopen"] = (openNext, taken) => {
    const reopened = moving.then(() => change(current.urls, openNext, taken));
    moving = reopened.catch(() => {});
    return reopened;
  };

  watch(current.bus);
  return {
    get connected() {
      return current.bus.connected;
    },
    get urls() {
      return current.urls;
    },
    isAt(urls) {
      const server = current.bus.nats.getServer();
      return urls.some((url) => formatAddress(placeOf(url)) === server);
    },
    async request(subject, data, timeoutMs) {
      const { bus, asked } = current;
      const answer = bus.nats.request(subject, data, { timeout: timeoutMs });
      asked.add(answer);
      try {
        return (await answer).data;
      } finally {
        asked.delete(answer);
      }
    },
    flush: () => current.bus.nats.flush(),
    publish(subject, data) {
      if (current.bus.connected) current.bus.nats.publish(subject, data);
    },
    subscribe(subject, onMessage) {
      const subscription = { subject, onMessage };
      subscriptions.push(subscription);
      listen(current.bus, subscription);
    },
    onConnect(run) {
      connectListeners.add(run);
      if (current.bus.connected) run();
      return () => connectListeners.delete(run);
    },
    repoint,
    reopen,
    restart: () => current.bus.nats.close(),
    async stop() {
      stopping.abort(new Error("the connection is closed"));
      await Promise.all([close(current.bus), closing]);
    },
  };
}

/** Leaves a connection when its requests have their answers: each has a timeout, so this ends. */
async function leave({ bus, asked }: Live, stopping: AbortSignal): Promise<void> {
  if (bus.connected) await Promise.race([Promise.allSettled(asked), untilAborted(stopping)]);
  await close(bus);
}

/** Drains the connection, or closes it when it cannot be drained. */
function close(bus: Bus): Promise<void> {
  return bus.connected ? bus.drain() : bus.nats.close();
}
