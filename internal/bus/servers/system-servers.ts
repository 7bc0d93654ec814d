import { type NatsConnection, NatsError, type RequestManyOptions, RequestStrategy } from "nats";
import * as v from "valibot";
import type { Clock } from "../../base/clock.ts";
import type { Bus } from "../connection/mod.ts";
import { readAnswer } from "./read-answer.ts";

/** Timeout for the replies of all servers, milliseconds. */
const answerMs = 2_000;
/** At the start: how long after the last reply no further server is expected. */
const quietMs = 300;
/** Every server sends a report each 10 s; after three missing reports it counts as gone. */
const goneMs = 35_000;

const serverReport = v.object({
  server: v.object({
    name: v.string(),
    id: v.string(),
    ver: v.optional(v.string(), ""),
    jetstream: v.optional(v.boolean(), false),
  }),
  statsz: v.optional(v.object({ connections: v.optional(v.number(), 0) }), {}),
});
interface KnownServer {
  id: string;
  version: string;
  jetstream: boolean;
  connections: number;
  /** Of its last report, on the monotonic clock. */
  seenAt: number;
}

/** The servers of a cluster, as far as they report. */
export interface Servers {
  present(): (KnownServer & { name: string })[];
  /** At least one: the one of this connection. */
  total(): number;
  /** Asks every server. Ends when all have answered, or after 2 s. */
  queryAll: QueryAll;
  /** Are called when a new server appears, or a server has restarted. */
  readonly onJoin: Set<() => void>;
  stop(): void;
}

export type QueryAll = (
  subject: string,
  payload?: string,
  more?: { over?: NatsConnection; onReply?(text: string): void },
) => Promise<string[]>;

/** Counts the servers, and follows their reports. */
export async function watchServers(bus: Bus): Promise<Servers> {
  const { nats, clock } = bus;
  // By name, which is unique in a cluster: the ID of a server changes at each start.
  const known = new Map<string, KnownServer>();
  const onJoin = new Set<() => void>();
  const note = (text: string) => {
    if (!noteReport(known, text, clock)) return;
    for (const run of onJoin) run();
  };
  const takeCensus = async () => {
    const census = { strategy: RequestStrategy.JitterTimer, maxWait: answerMs, jitter: quietMs };
    for (const report of await request(nats, "$SYS.REQ.SERVER.PING", undefined, census)) note(report);
  };
  const present = () => [...known].flatMap(([name, one]) => (isGone(one, clock) ? [] : [{ name, ...one }]));
  const total = () => Math.max(1, present().length);

  const subscriptions = [
    nats.subscribe("$SYS.SERVER.*.STATSZ", { callback: (error, message) => error ?? note(message.string()) }),
    nats.subscribe("$SYS.SERVER.*.SHUTDOWN", {
      callback(_, message) {
        const gone = message.subject.split(".")[2];
        for (const [name, { id }] of known) if (id === gone) known.delete(name);
      },
    }),
  ];
  await takeCensus();
  // A restarted server has the claims that it had on disk, so the watcher must check at once.
  const unsubscribe = bus.onReconnect(() => {
    takeCensus().catch((error) => bus.log.warn("the servers of the bus could not be counted", { error }));
  });
  return {
    ...{ present, total, onJoin },
    queryAll: (subject, payload, { over = nats, onReply } = {}) =>
      request(
        over,
        subject,
        payload,
        { strategy: RequestStrategy.Count, maxMessages: total(), maxWait: answerMs },
        onReply,
      ),
    stop() {
      unsubscribe();
      for (const subscription of subscriptions) subscription.unsubscribe();
    },
  };
}

const isGone = ({ seenAt }: KnownServer, clock: Clock) => seenAt < clock.monotonic() - goneMs;

/** @returns whether the server is new, or has restarted */
function noteReport(known: Map<string, KnownServer>, text: string, clock: Clock): boolean {
  const report = readAnswer(serverReport, text);
  if (report === undefined) return false;
  const { name, id, ver: version, jetstream } = report.server;
  const { connections = 0 } = report.statsz;
  const before = known.get(name);
  const isKnown = before?.id === id && !isGone(before, clock);
  known.set(name, { id, version, jetstream, connections, seenAt: clock.monotonic() });
  return !isKnown;
}

async function request(
  nats: NatsConnection,
  subject: string,
  payload: string | undefined,
  options: RequestManyOptions,
  onReply: (text: string) => void = () => {},
): Promise<string[]> {
  const found: string[] = [];
  try {
    for await (const reply of await nats.requestMany(subject, payload, options)) {
      const text = reply.string();
      found.push(text);
      onReply(text);
    }
  } catch (thrown) {
    if (!(thrown instanceof NatsError)) throw thrown;
  }
  return found;
}
