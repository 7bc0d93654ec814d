import { createBackoff } from "../../base/backoff.ts";
import { type Clock, sleep, untilAborted } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { formatAddress } from "../../base/names/address.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import { placeOf } from "../../bus/servers/mod.ts";
import { MetObstacle } from "./obstacle.ts";

const pauses = { firstMs: 1_000, maxMs: 30_000 };

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
  requested: Set<Promise<unknown>>;
}

interface Subscription {
  subject: string;
  onMessage: (subject: string, data: Uint8Array) => void;
}

/** A connection, as it moves from one server to another. */
interface Moving extends Omit<ConnectionOptions, "first"> {
  current: Live;
  readonly subscriptions: Subscription[];
  readonly connectListeners: Set<() => void>;
  readonly stopping: AbortController;
  /** The last move that was begun: one follows the other. */
  moved: Promise<unknown>;
  /** The end of the connections that were left. */
  closed: Promise<unknown>;
}

export function createConnection({ first, ...options }: ConnectionOptions): Connection {
  const moving: Moving = {
    ...options,
    current: { ...first, requested: new Set() },
    subscriptions: [],
    connectListeners: new Set(),
    stopping: new AbortController(),
    moved: Promise.resolve(),
    closed: Promise.resolve(),
  };
  watch(moving, first.bus);
  return {
    get connected() {
      return moving.current.bus.connected;
    },
    get urls() {
      return moving.current.urls;
    },
    isAt(urls) {
      const server = moving.current.bus.nats.getServer();
      return urls.some((url) => formatAddress(placeOf(url)) === server);
    },
    async request(subject, data, timeoutMs) {
      const { bus, requested } = moving.current;
      const answer = bus.nats.request(subject, data, { timeout: timeoutMs });
      requested.add(answer);
      try {
        return (await answer).data;
      } finally {
        requested.delete(answer);
      }
    },
    flush: () => moving.current.bus.nats.flush(),
    publish(subject, data) {
      const { bus } = moving.current;
      if (bus.connected) bus.nats.publish(subject, data);
    },
    subscribe(subject, onMessage) {
      const subscription = { subject, onMessage };
      moving.subscriptions.push(subscription);
      listen(moving, moving.current.bus, subscription);
    },
    onConnect(run) {
      moving.connectListeners.add(run);
      if (moving.current.bus.connected) run();
      return () => moving.connectListeners.delete(run);
    },
    repoint: (urls) => repoint(moving, urls),
    reopen: (open, taken) => inTurn(moving, () => change(moving, moving.current.urls, open, taken)),
    restart: () => moving.current.bus.nats.close(),
    async stop() {
      moving.stopping.abort(new Error("the connection is closed"));
      await Promise.all([close(moving.current.bus), moving.closed]);
    },
  };
}

function listen({ log }: Moving, bus: Bus, { subject, onMessage }: Subscription): void {
  bus.nats.subscribe(subject, {
    callback(error, message) {
      if (error !== null) return log.warn("subscription error", { subject, error });
      onMessage(message.subject, message.data);
    },
  });
}

function announce({ connectListeners }: Moving): void {
  for (const run of connectListeners) run();
}

/** Follows what becomes of the connection while it is the current one. */
function watch(moving: Moving, bus: Bus): void {
  const { stopping, clock, jitter, log } = moving;
  bus.onReconnect(() => {
    if (moving.current.bus === bus) announce(moving);
  });
  // The client library gives up permanently after some errors. A peel does not.
  void bus.closed.then(async (reason) => {
    if (moving.current.bus !== bus || stopping.signal.aborted) return;
    log.warn("bus connection lost for good; opening another", { reason: describeError(reason) });
    const backoff = createBackoff({ ...pauses, jitter });
    for (;;) {
      try {
        await sleep(clock, backoff.next(), stopping.signal);
      } catch {
        return;
      }
      if (moving.current.bus !== bus || (await repoint(moving, moving.current.urls))) return;
    }
  });
}

/** @throws why the connection stays where it is */
async function change(
  moving: Moving,
  urls: readonly string[],
  open: ConnectionOptions["open"],
  taken: () => void,
): Promise<void> {
  const { subscriptions, log } = moving;
  const stopping = moving.stopping.signal;
  stopping.throwIfAborted();
  const bus = await open(urls);
  try {
    stopping.throwIfAborted();
    // Subscribe there before leaving here. A command may arrive twice, and runs once. None is missed.
    for (const subscription of subscriptions) listen(moving, bus, subscription);
    await bus.nats.flush();
    taken();
  } catch (thrown) {
    await bus.nats.close();
    throw thrown;
  }
  const old = moving.current;
  moving.current = { bus, urls, requested: new Set() };
  watch(moving, bus);
  moving.closed = Promise.all([moving.closed, leave(old, stopping)]).catch(() => {});
  log.info("bus connection moved", { urls });
  announce(moving);
}

function repoint(moving: Moving, urls: readonly string[]): Promise<boolean> {
  return inTurn(moving, async () => {
    try {
      await change(moving, urls, moving.open, () => {});
      return true;
    } catch (thrown) {
      if (moving.stopping.signal.aborted) return false;
      const level = thrown instanceof MetObstacle ? "debug" : "warn";
      moving.log[level]("bus not reachable at other servers", { urls, error: describeError(thrown) });
      return false;
    }
  });
}

function inTurn<T>(moving: Moving, move: () => Promise<T>): Promise<T> {
  const moved = moving.moved.then(move);
  moving.moved = moved.catch(() => {});
  return moved;
}

/** Leaves a connection when its requests have their answers: each has a timeout, so this ends. */
async function leave({ bus, requested }: Live, stopping: AbortSignal): Promise<void> {
  if (bus.connected) await Promise.race([Promise.allSettled(requested), untilAborted(stopping)]);
  await close(bus);
}

/** Drains the connection, or closes it when it cannot be drained. */
function close(bus: Bus): Promise<void> {
  return bus.connected ? bus.drain() : bus.nats.close();
}
