import { createInbox, type Msg } from "nats";
import { sleep } from "../base/clock.ts";
import { SvcError } from "../base/errors.ts";
import type { Bus } from "./connect.ts";
import { managerOf } from "./jetstream/manager.ts";
import { JetStreamError, readReply, requestJetStream } from "./jetstream/request.ts";

const requestTimeoutMs = 30_000;
const lookMs = 100;
/** A server that sends nothing for this long is treated as failed. */
const stallMs = 30_000;

/** The description of a stream by a server, in the form that a restore needs. */
export interface SnapshotHead {
  config: Record<string, unknown>;
  state: Record<string, unknown>;
}

/** The names of the streams that are stored on disk, buckets and object stores among them. */
export async function storedStreams(bus: Bus): Promise<string[]> {
  const manager = await managerOf(bus);
  const names: string[] = [];
  for await (const { config } of manager.streams.list()) {
    if (config.storage === "file") names.push(config.name);
  }
  return names.sort();
}

/**
 * Reads a complete stream with its consumers, in a form that only a server understands.
 *
 * @param onChunk gets the bytes in order
 * @throws SvcError `forbidden` or `unavailable`
 */
export async function snapshotStream(
  bus: Bus,
  name: string,
  onChunk: (bytes: Uint8Array) => void,
): Promise<SnapshotHead> {
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
    const head = await ask<SnapshotHead>(bus, `$JS.API.STREAM.SNAPSHOT.${name}`, {
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
function ended(name: string, { headers }: Msg, head: SnapshotHead): SnapshotHead {
  if (headers !== undefined && headers.code >= 300) {
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
  const { deliver_subject: subject } = await ask<{ deliver_subject: string }>(
    bus,
    `$JS.API.STREAM.RESTORE.${name}`,
    { config: { ...head.config, num_replicas: replicas }, state: head.state },
  );
  for (const chunk of chunks) await send(bus, name, subject, chunk);
  await send(bus, name, subject, new Uint8Array());
  for (let waitedMs = 0; (await completeReplicas(bus, name)) < replicas; waitedMs += lookMs) {
    if (waitedMs > stallMs)
      throw new SvcError("unavailable", `${name}: not every server has a complete copy yet`);
    await sleep(bus.clock, lookMs);
  }
}

/** On how many servers a stream is complete; 0 during an election. */
async function completeReplicas(bus: Bus, name: string): Promise<number> {
  const manager = await managerOf(bus);
  const { cluster } = await manager.streams.info(name);
  if (cluster === undefined) return 1;
  if (!cluster.leader) return 0;
  return 1 + (cluster.replicas ?? []).filter(({ current }) => current).length;
}

/** The reply to a chunk is empty, unless the server refuses to continue. */
async function send(bus: Bus, name: string, subject: string, bytes: Uint8Array): Promise<void> {
  const { data } = await bus.nats.request(subject, bytes, { timeout: requestTimeoutMs });
  if (data.length > 0) await refused(name, () => readReply(data));
}

function ask<Answer extends object>(
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
    if (!(thrown instanceof JetStreamError)) throw thrown;
    throw new SvcError("unavailable", `${what}: the bus reports: ${thrown.message}`);
  }
}
