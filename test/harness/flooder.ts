import { join } from "node:path";
import { encode } from "../../internal/base/msgpack.ts";
import { peelInboxPrefix } from "../../internal/bus/subjects/subjects.ts";
import type { TestBus } from "./bus.ts";
import { startWorker } from "./worker.ts";

export type FloodCommand =
  | {
      kind: "start";
      port: number;
      caPem: string;
      credentials: string;
      name: string;
      /** Subjects in turns; `#` becomes a number. */
      subjects: readonly string[];
      payloadBytes: number;
      /** Instead of so many bytes. */
      payload?: readonly number[];
      /** The inbox that answers go to; messages without one when absent. */
      reply?: string;
      /** How many messages it sends at least before it waits for its end; without end when absent. */
      minMessages?: number;
    }
  | { kind: "wait" }
  | { kind: "stop" };

export interface FloodResult {
  /** Messages written. */
  sent: number;
  /** When the server ended the connection, milliseconds since the Unix epoch. */
  ended: number | undefined;
}

/** What one peel sends again and again. */
export interface FloodKind {
  name: string;
  subjects(peel: string): string[];
  payloadBytes: number;
  payload?: Uint8Array;
  /** Whether it asks for answers. */
  isRequest: boolean;
  /** How many messages it sends at least before it waits for its end; without end when absent. */
  minMessages?: number;
}

const emptyMap = Uint8Array.of(0x80);
/** 85 KB, as a host with many packages, disks and addresses has. */
const largeFacts = encode({
  os: "Debian",
  packages: Object.fromEntries(
    Array.from({ length: 2_400 }, (_, at) => [`package-${at}`, `1.${at}.0-1+deb12u2`]),
  ),
});

/** By every subject that the credentials of a peel allow. */
export const floodKinds: readonly FloodKind[] = [
  {
    name: "hello",
    subjects: (id) => [`svc.peel.${id}.hello`],
    payloadBytes: 1,
    payload: emptyMap,
    isRequest: true,
  },
  {
    name: "fetch",
    subjects: (id) => [`svc.peel.${id}.fetch`],
    payloadBytes: 1,
    payload: emptyMap,
    isRequest: true,
  },
  { name: "acks", subjects: (id) => [`svc.job.f#.ack.${id}`], payloadBytes: 64, isRequest: false },
  { name: "returns", subjects: (id) => [`svc.job.f#.return.${id}`], payloadBytes: 256, isRequest: false },
  {
    name: "large returns",
    subjects: (id) => [`svc.job.f#.return.${id}`],
    payloadBytes: 1_000_000,
    isRequest: false,
  },
  {
    name: "schedule results",
    subjects: (id) => [`svc.job.f#.schedule.${id}`],
    payloadBytes: 256,
    isRequest: false,
  },
  { name: "progress", subjects: (id) => [`svc.job.f#.progress.${id}`], payloadBytes: 64, isRequest: false },
  { name: "events", subjects: (id) => [`svc.event.${id}.flood`], payloadBytes: 128, isRequest: false },
  { name: "heartbeats", subjects: (id) => [`$KV.peel-heartbeat.${id}`], payloadBytes: 64, isRequest: false },
  { name: "facts", subjects: (id) => [`$KV.facts.${id}`], payloadBytes: 256, isRequest: false },
  {
    name: "large facts",
    subjects: (id) => [`$KV.facts.${id}`],
    payloadBytes: largeFacts.length,
    payload: largeFacts,
    isRequest: false,
  },
];

export interface Flood extends AsyncDisposable {
  /** Resolves when the server has ended it. */
  ended(): Promise<FloodResult>;
  /** Ends it. @returns what was sent, and when the server ended it */
  stop(): Promise<FloodResult>;
}

/** Floods as one peel, in a process of its own; it runs when this resolves. */
export async function startFlood(
  bus: Pick<TestBus, "url" | "caPem">,
  peel: { peelId: string; credentials: string },
  { subjects, payloadBytes, payload, isRequest, minMessages }: FloodKind,
): Promise<Flood> {
  const worker = startWorker<FloodCommand, FloodResult>(join(import.meta.dir, "flooder-main.ts"));
  const { peelId, credentials } = peel;
  try {
    await worker.request({
      kind: "start",
      port: Number(new URL(bus.url).port),
      caPem: bus.caPem,
      credentials,
      name: `flood ${peelId}`,
      subjects: subjects(peelId),
      payloadBytes,
      ...(payload === undefined ? {} : { payload: [...payload] }),
      ...(isRequest ? { reply: `${peelInboxPrefix(peelId)}.x` } : {}),
      ...(minMessages === undefined ? {} : { minMessages }),
    });
  } catch (thrown) {
    await worker[Symbol.asyncDispose]();
    throw thrown;
  }
  return {
    ended: () => worker.request({ kind: "wait" }),
    stop: () => worker.request({ kind: "stop" }),
    [Symbol.asyncDispose]: () => worker[Symbol.asyncDispose](),
  };
}
