import { NatsError, type RequestManyOptions, RequestStrategy } from "nats";
import * as v from "valibot";
import type { Bus } from "./connect.ts";

// What the system account of a NATS server offers (NATS documents "System events", "Account resolver"), as
// far as revocation and provisioning use it.

/** Timeout for the replies of all servers, milliseconds. */
const answerMs = 2_000;
/** At the start: how long after the last reply no further server is expected. */
const quietMs = 300;
/** Every server sends a report each 10 s; after three missing reports it counts as gone. */
const goneMs = 35_000;

/** The view of the bus that its system user has. */
export interface SystemBus {
  /** How many servers the cluster has, and how many of them run JetStream. */
  servers(): { total: number; jetstream: number };
  /**
   * Gives every server new claims of an account.
   *
   * @returns whether every server accepted them within 2 s
   */
  pushClaims(jwt: string): Promise<boolean>;
  /**
   * The claims of an account as each server holds them now: one per server that answered within 2 s, fewer
   * than the number of servers if some do not answer.
   */
  lookupClaims(account: string): Promise<string[]>;
  /** Calls `run` with the user key of each connection of this account when it ends. */
  onDisconnect(account: string, run: (user: string) => void): () => void;
  /** Calls `run` when a new server appears, or a server has restarted. */
  onServerJoin(run: () => void): () => void;
  stop(): void;
}

const serverReport = v.object({
  server: v.object({ name: v.string(), id: v.string(), jetstream: v.optional(v.boolean(), false) }),
});
const claimsReply = v.object({ data: v.object({ code: v.number() }) });
const disconnectEvent = v.object({ client: v.object({ user: v.string() }) });

/** Opens the system view, which learns the servers of the cluster from their reports. */
export async function createSystemBus(bus: Bus): Promise<SystemBus> {
  const { nats, clock } = bus;
  // By name, which is unique in a cluster: the ID of a server changes at each start.
  const known = new Map<string, { id: string; jetstream: boolean; seenAt: number }>();
  const onJoin = new Set<() => void>();

  const ask = async (
    subject: string,
    payload: string | undefined,
    options: RequestManyOptions,
  ): Promise<string[]> => {
    const found: string[] = [];
    try {
      for await (const reply of await nats.requestMany(subject, payload, options)) found.push(reply.string());
    } catch (thrown) {
      if (!(thrown instanceof NatsError)) throw thrown;
    }
    return found;
  };
  /** Ends when every server has answered. */
  const askAll = (subject: string, payload?: string) =>
    ask(subject, payload, { strategy: RequestStrategy.Count, maxMessages: total(), maxWait: answerMs });
  const note = (text: string) => {
    const report = read(serverReport, text);
    if (report === undefined) return;
    const { name, id, jetstream } = report.server;
    const seenAt = clock.monotonic();
    const before = known.get(name);
    known.set(name, { id, jetstream, seenAt });
    if (before?.id === id && !isGone(before.seenAt)) return;
    for (const run of onJoin) run();
  };
  const isGone = (seenAt: number) => seenAt < clock.monotonic() - goneMs;
  const present = () => [...known.values()].filter(({ seenAt }) => !isGone(seenAt));
  const total = () => Math.max(1, present().length);
  const takeCensus = async () => {
    const reports = await ask("$SYS.REQ.SERVER.PING", undefined, {
      strategy: RequestStrategy.JitterTimer,
      maxWait: answerMs,
      jitter: quietMs,
    });
    for (const report of reports) note(report);
  };

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
    servers: () => ({
      total: total(),
      jetstream: Math.max(1, present().filter((one) => one.jetstream).length),
    }),
    async pushClaims(jwt) {
      const expected = total();
      const replies = await askAll("$SYS.REQ.CLAIMS.UPDATE", jwt);
      return replies.filter((text) => read(claimsReply, text)?.data.code === 200).length >= expected;
    },
    lookupClaims: (account) => askAll(`$SYS.REQ.ACCOUNT.${account}.CLAIMS.LOOKUP`),
    onDisconnect(account, run) {
      const subscription = nats.subscribe(`$SYS.ACCOUNT.${account}.DISCONNECT`, {
        callback(error, message) {
          const event = error === null ? read(disconnectEvent, message.string()) : undefined;
          if (event !== undefined) run(event.client.user);
        },
      });
      return () => subscription.unsubscribe();
    },
    onServerJoin(run) {
      onJoin.add(run);
      return () => onJoin.delete(run);
    },
    stop() {
      unsubscribe();
      for (const subscription of subscriptions) subscription.unsubscribe();
    },
  };
}

function read<T>(schema: v.GenericSchema<unknown, T>, text: string): T | undefined {
  try {
    const parsed = v.safeParse(schema, JSON.parse(text));
    return parsed.success ? parsed.output : undefined;
  } catch {
    return undefined;
  }
}
