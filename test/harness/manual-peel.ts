import { ErrorCode, NatsError } from "nats";
import { sleep, systemClock } from "../../internal/base/clock.ts";
import { decode, encode } from "../../internal/base/msgpack.ts";
import {
  ackSubject,
  dispatchSubject,
  helloSubject,
  returnSubject,
  stopSubject,
} from "../../internal/bus/subjects/subjects.ts";
import { type Command, type CommandKind, openCommand } from "../../internal/wire/command.ts";
import type { JobReturn } from "../../internal/wire/return.ts";
import { connectPeel, type EnrolledPeel, type PeelConnection } from "./peel-connection.ts";

/** A peel under manual control of a test: it receives messages, and sends only what the test tells it to. */
export interface ManualPeel extends AsyncDisposable {
  readonly peelId: string;
  readonly connection: PeelConnection;
  /** The next command of this kind about any job, in the order of arrival. */
  next(kind: CommandKind): Promise<Command>;
  /** How many commands of this kind were taken out or wait. */
  count(kind: CommandKind): number;
  acknowledge(jid: string): Promise<void>;
  /** Answers a job; success, unless `value` says otherwise. */
  answer(jid: string, value?: Partial<JobReturn>): Promise<void>;
  /** Says hello and opens the commands in the answer. */
  hello(): Promise<Command[]>;
  /** Stores a heartbeat. */
  beat(): Promise<void>;
}

/**
 * Connects an enrolled peel under manual control.
 *
 * @param options.beats whether it sends heartbeats by itself, as a peel does: others are connected for 30 s only
 */
export async function connectManualPeel(
  bus: { url: string; caPem: string },
  peel: EnrolledPeel,
  { beats = false }: { beats?: boolean } = {},
): Promise<ManualPeel> {
  const { peelId } = peel;
  const connection = await connectPeel(bus, peel);
  const { nats } = connection;
  // Repeated, as the outbox of a peel does: a server that takes over the revocations of the account drops some of
  // what is under way (8 of 24,470 requests were lost during 60 revocations).
  const store = async (subject: string, value: unknown) => {
    const reply = await repeatedly(() => nats.request(subject, encode(value), { timeout: 5_000 }));
    const { error } = reply.json<{ error?: { description: string } }>();
    if (error !== undefined) throw new Error(error.description);
  };
  const open = (data: Uint8Array, on?: { kind: CommandKind; jid: string }): Command =>
    openCommand(
      data,
      { peel: peelId, ...(on === undefined ? {} : { on }) },
      { keys: peel.commandKeys, now: 0 },
    );
  const queues = { dispatch: queue<Command>(), stop: queue<Command>() };
  for (const [kind, subject] of [
    ["dispatch", dispatchSubject("*", peelId)],
    ["stop", stopSubject("*", peelId)],
  ] as const) {
    nats.subscribe(subject, {
      callback: (error, message) => {
        const jid = message.subject.split(".")[2] ?? "";
        if (error === null) queues[kind].put(open(message.data, { kind, jid }));
      },
    });
  }
  await nats.flush();
  const beat = () => store(`$KV.peel-heartbeat.${peelId}`, { peel_id: peelId });
  if (beats) await beat();
  // A heartbeat that is lost with the connection is not missed.
  const beating = beats ? systemClock.every(10_000, () => void beat().catch(() => {})) : undefined;
  return {
    peelId,
    connection,
    next: (kind) => queues[kind].take(),
    count: (kind) => queues[kind].total(),
    acknowledge: (jid) => store(ackSubject(jid, peelId), { accepted: true }),
    answer: (jid, value = {}) =>
      store(returnSubject(jid, peelId), {
        success: true,
        retcode: 0,
        return: true,
        started_at: "2026-01-01T00:00:00.000Z",
        duration_ms: 1,
        ...value,
      }),
    async hello() {
      for (;;) {
        const reply = await nats.request(helloSubject(peelId), encode({}), { timeout: 30_000 });
        const { jobs, error } = decode(reply.data) as { jobs?: Uint8Array[]; error?: { code: string } };
        if (jobs !== undefined) return jobs.map((bytes) => open(bytes));
        if (error?.code !== "rate_limited") throw new Error(`hello was refused: ${JSON.stringify(error)}`);
        // As a peel does.
        await sleep(systemClock, 500);
      }
    },
    beat,
    async [Symbol.asyncDispose]() {
      beating?.cancel();
      await connection[Symbol.asyncDispose]();
    },
  };
}

/** Sends a request again while nobody answers, for half a minute at most. */
async function repeatedly<T>(send: () => Promise<T>): Promise<T> {
  for (let left = 6; ; left--) {
    try {
      return await send();
    } catch (thrown) {
      const isUnanswered = thrown instanceof NatsError && thrown.code === ErrorCode.Timeout;
      if (!isUnanswered || left === 1) throw thrown;
    }
  }
}

function queue<T>() {
  const items: T[] = [];
  const takers: ((item: T) => void)[] = [];
  let total = 0;
  return {
    put(item: T) {
      total++;
      const taker = takers.shift();
      if (taker === undefined) items.push(item);
      else taker(item);
    },
    take: () =>
      new Promise<T>((resolve) => {
        const item = items.shift();
        if (item === undefined) takers.push(resolve);
        else resolve(item);
      }),
    total: () => total,
  };
}
