import { createInbox, ErrorCode, type Msg, NatsError } from "nats";
import { rfc3339, sleep } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";
import { conflict } from "../../base/retry-on-conflict.ts";
import { restoredMetadata } from "../assets/mod.ts";
import type { Bus } from "../connection/mod.ts";
import {
  createConsumer,
  dropConsumer,
  errorCodes,
  isLeaderless,
  JetStreamError,
  managerOf,
  readReply,
  requestJetStream,
} from "../jetstream/mod.ts";

const requestTimeoutMs = 30_000;
const checkMs = 100;
/** What a request ends with when no server takes it. */
const silences: readonly string[] = [ErrorCode.NoResponders, ErrorCode.Timeout];
/** What a server says of a consumer that ended while it was read (server/stream.go, `snapshot`). */
const consumerEnded = "couldn't load consumer";
/** A server that sends nothing for this long is treated as failed. */
const stallMs = 30_000;

/** The description of a stream by a server, in the form that a restore needs. */
export interface SnapshotHead {
  config: Record<string, unknown>;
  state: Record<string, unknown>;
}

/** The names of the streams that are stored on disk, buckets and object stores among them. */
export function storedStreams(bus: Bus): Promise<string[]> {
  return whenFormed(bus, async () => {
    const manager = await managerOf(bus);
    const names: string[] = [];
    for await (const { config } of manager.streams.list()) {
      if (config.storage === "file") names.push(config.name);
    }
    return names.sort();
  });
}

/**
 * Reads a complete stream with its consumers, in a form that only a server understands.
 *
 * @param onChunk gets the bytes in order
 * @returns `conflict` when a consumer ended while the server read it, as those of `svc` do: read the stream again
 * @throws SvcError `forbidden` or `unavailable`
 */
export async function snapshotStream(
  bus: Bus,
  name: string,
  onChunk: (bytes: Uint8Array) => void,
): Promise<SnapshotHead | typeof conflict> {
  const inbox = createInbox();
  const chunks = bus.nats.subscribe(inbox);
  let stalled = false;
  const watchdog = () =>
    bus.clock.after(stallMs, () => {
      stalled = true;
      chunks.unsubscribe();
    });
  let timer = watchdog();
  try {
    const head = await query<SnapshotHead>(bus, `$JS.API.STREAM.SNAPSHOT.${name}`, {
      deliver_subject: inbox,
      no_consumers: false,
      jsck: true,
    });
    for await (const message of chunks) {
      timer.cancel();
      timer = watchdog();
      if (message.data.length === 0) return ended(name, message, head);
      onChunk(message.data);
      message.respond();
    }
    throw new SvcError(
      "unavailable",
      `${name}: ${stalled ? "the bus stopped sending" : "the connection to the bus was lost"}`,
    );
  } finally {
    timer.cancel();
    chunks.unsubscribe();
  }
}

/** The last message is empty; a status in it reports an error. */
function ended(name: string, { headers }: Msg, head: SnapshotHead): SnapshotHead | typeof conflict {
  if (headers !== undefined && headers.code >= 300) {
    if (headers.description.includes(consumerEnded)) return conflict;
    throw new SvcError("unavailable", `${name}: ${headers.code} ${headers.description}`);
  }
  return { config: head.config, state: head.state };
}

/**
 * Creates a stream from the bytes that `snapshotStream` read; it must not exist.
 *
 * @param replicas on how many servers; it is complete on each of them when this resolves
 * @throws SvcError `forbidden` or `unavailable` with the message of the server
 */
export async function restoreStream(
  bus: Bus,
  name: string,
  head: SnapshotHead,
  chunks: Iterable<Uint8Array>,
  replicas: number,
): Promise<void> {
  const subject = await restoreSubject(bus, name, { ...head.config, num_replicas: replicas }, head.state);
  for (const chunk of chunks) await send(bus, name, subject, chunk);
  await send(bus, name, subject, new Uint8Array());
  await untilComplete(bus, name, replicas);
}

/**
 * Resolves when each server has all messages. The server that leads the stream reports a follower before
 * that follower has what was restored. Consumers show what a server really has. The bus chooses their servers, so
 * they are created until each server was seen complete.
 */
async function untilComplete(bus: Bus, name: string, replicas: number): Promise<void> {
  const complete = new Set<string>();
  for (let waitedMs = 0; complete.size < replicas; waitedMs += checkMs) {
    if (waitedMs > stallMs)
      throw new SvcError("unavailable", `${name}: not every server has a complete copy yet`);
    if (waitedMs > 0) await sleep(bus.clock, checkMs);
    try {
      const { messages, following } = await followersOf(bus, name);
      if (following < replicas) complete.clear();
      else if (messages === 0 || replicas === 1) return;
      // Three servers are seen after six consumers on average.
      else for (let i = 0; i < 8 && complete.size < replicas; i++) await checkOnce(messages);
    } catch (thrown) {
      if (!isForming(thrown)) throw thrown;
    }
  }

  async function checkOnce(messages: number): Promise<void> {
    const config = {
      ...{ deliver_policy: "all", ack_policy: "none", deliver_subject: createInbox() },
      ...{ mem_storage: true, num_replicas: 1, inactive_threshold: 5_000_000_000 },
    };
    const { name: consumer = "", num_pending = 0, cluster } = await createConsumer(bus, name, config);
    dropConsumer(bus, name, consumer);
    const server = cluster?.leader ?? "";
    if (num_pending < messages) complete.delete(server);
    else complete.add(server);
  }
}

/** Where a restore sends its chunks. */
function restoreSubject(
  bus: Bus,
  name: string,
  config: SnapshotHead["config"],
  state: SnapshotHead["state"],
): Promise<string> {
  const request = `$JS.API.STREAM.RESTORE.${name}`;
  return refused(request, () =>
    whenFormed(bus, async () => {
      const metadata = restoredMetadata(bus, config.metadata, rfc3339(bus.clock.now()));
      const body = JSON.stringify({ config: { ...config, ...metadata }, state });
      const options = { timeoutMs: requestTimeoutMs };
      const answer = await requestJetStream<{ deliver_subject: string }>(bus, request, body, options);
      return answer.deliver_subject ?? "";
    }),
  );
}

/**
 * Runs a request again while a cluster forms: it has no leader yet, or too few servers for the replicas. That
 * takes some seconds after its servers have started.
 */
async function whenFormed<T>(bus: Pick<Bus, "clock">, run: () => Promise<T>): Promise<T> {
  for (let waitedMs = 0; ; waitedMs += checkMs) {
    try {
      return await run();
    } catch (thrown) {
      if (!isForming(thrown) || waitedMs > stallMs) throw thrown;
    }
    await sleep(bus.clock, checkMs);
  }
}

function isForming(thrown: unknown): boolean {
  if (thrown instanceof JetStreamError && thrown.errorCode === errorCodes.noSuitablePeers) return true;
  return isLeaderless(thrown) || (thrown instanceof NatsError && thrown.code === ErrorCode.NoResponders);
}

/** How many messages a stream has, and how many servers follow it with its leader; none during an election. */
async function followersOf(bus: Bus, name: string): Promise<{ messages: number; following: number }> {
  const manager = await managerOf(bus);
  const { cluster, state } = await manager.streams.info(name);
  const { messages } = state;
  if (cluster === undefined) return { messages, following: 1 };
  if (!cluster.leader) return { messages, following: 0 };
  return { messages, following: 1 + (cluster.replicas ?? []).filter(({ current }) => current).length };
}

/** The reply to a chunk is empty, unless the server refuses to continue. */
async function send(bus: Bus, name: string, subject: string, bytes: Uint8Array): Promise<void> {
  // A server that has just made this subject is not known to all others yet: then nobody gets the chunk.
  const { data } = await refused(name, () =>
    whenFormed(bus, () => bus.nats.request(subject, bytes, { timeout: requestTimeoutMs })),
  );
  if (data.length > 0) await refused(name, () => readReply(data));
}

function query<Answer extends object>(
  bus: Bus,
  subject: string,
  body: Record<string, unknown>,
): Promise<Answer> {
  const options = { timeoutMs: requestTimeoutMs };
  return refused(
    subject,
    async () => (await requestJetStream<Answer>(bus, subject, JSON.stringify(body), options)) as Answer,
  );
}

/** Names what was refused, and why. */
async function refused<T>(what: string, run: () => T | Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (thrown) {
    if (thrown instanceof JetStreamError)
      throw new SvcError("unavailable", `${what}: the bus reports: ${thrown.message}`);
    if (thrown instanceof NatsError && silences.includes(thrown.code))
      throw new SvcError("unavailable", `${what}: the bus does not answer: check it with svc doctor`);
    throw thrown;
  }
}
