import { createBackoff } from "../../base/backoff.ts";
import { type Clock, sleep } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import type { Bus } from "../../bus/mod.ts";

const pauses = { firstMs: 1_000, longestMs: 30_000 };

/** A peel's connection to the bus. It can move to other servers at any time, transparently for its users. */
export interface Connection {
  readonly connected: boolean;
  /** The configured servers. */
  readonly urls: readonly string[];
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

interface Subscription {
  subject: string;
  onMessage: (subject: string, data: Uint8Array) => void;
}

export function createConnection(options: ConnectionOptions): Connection {
  const { open, clock, jitter, log } = options;
  const subscriptions: Subscription[] = [];
  const connectListeners = new Set<() => void>();
  const stopping = new AbortController();
  let current = options.first;
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

  const move = async (urls: readonly string[]): Promise<boolean> => {
    if (stopping.signal.aborted) return false;
    let bus: Bus;
    try {
      bus = await open(urls);
    } catch (thrown) {
      log.warn("bus not reachable at other servers", { urls, error: describeError(thrown) });
      return false;
    }
    if (stopping.signal.aborted) {
      await bus.drain();
      return false;
    }
    try {
      // Subscribe there before leaving here. A command may arrive twice, and runs once. None is missed.
      for (const subscription of subscriptions) listen(bus, subscription);
      await bus.nats.flush();
    } catch (thrown) {
      log.warn("bus lost at other servers", { urls, error: describeError(thrown) });
      await bus.nats.close();
      return false;
    }
    const old = current.bus;
    current = { bus, urls };
    watch(bus);
    closing = Promise.all([closing, leave(old)]).catch(() => {});
    log.info("bus connection moved", { urls });
    announce();
    return true;
  };
  const repoint = (urls: readonly string[]): Promise<boolean> => {
    const moved = moving.then(() => move(urls));
    moving = moved.catch(() => {});
    return moved;
  };

  watch(current.bus);
  return {
    get connected() {
      return current.bus.connected;
    },
    get urls() {
      return current.urls;
    },
    async request(subject, data, timeoutMs) {
      return (await current.bus.nats.request(subject, data, { timeout: timeoutMs })).data;
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
    async stop() {
      stopping.abort(new Error("the connection is closed"));
      await Promise.all([leave(current.bus), closing]);
    },
  };
}

/** Drains the connection, or closes it when it cannot be drained. */
function leave(bus: Bus): Promise<void> {
  return bus.connected ? bus.drain() : bus.nats.close();
}
