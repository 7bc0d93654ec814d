import { NatsError, type RequestManyOptions, RequestStrategy } from "nats";
import * as v from "valibot";
import type { Bus } from "./connect.ts";
import { type ConnectedUser, listConnectedUsers, readConnectEvent } from "./connected-users.ts";

// What the system account of a NATS server offers (NATS documents "System events", "Account
// resolver"), as far as revocation and provisioning need it.

/** How long to wait for the answers of all servers, milliseconds. */
const answerMs = 2_000;
/** At start: how long after the last answer no further server is expected. */
const quietMs = 300;
/** Every server reports itself each 10 s; one that missed three reports is gone. */
const goneMs = 35_000;

/** The bus seen by its system user. */
export interface SystemBus {
  /** How many servers the cluster has, and how many of them run JetStream. */
  servers(): { total: number; jetstream: number };
  /**
   * Gives every server new claims of an account.
   *
   * @returns whether every server took them within 2 s
   */
  pushClaims(jwt: string): Promise<boolean>;
  /**
   * The claims of an account as each server holds them now: one per server that answered within 2 s,
   * fewer than there are servers if some are silent.
   */
  lookupClaims(account: string): Promise<string[]>;
  /** Calls `run` with the user key of each connection of this account that ends. */
  onDisconnect(account: string, run: (user: string) => void): () => void;
  /** Calls `run` with each user of this account that connects. */
  onConnect(account: string, run: (user: ConnectedUser) => void): () => void;
  /** The users of this account that are connected to the servers that answered within 2 s, one per connection. */
  connectedUsers(account: string): Promise<ConnectedUser[]>;
  /** Calls `run` when a server appears that was not there before, or has started again. */
  onServerJoin(run: () => void): () => void;
  stop(): void;
}

const serverReport = v.object({
  server: v.object({ name: v.string(), id: v.string(), jetstream: v.optional(v.boolean(), false) }),
});
const claimsReply = v.object({ data: v.object({ code: v.number() }) });
const disconnectEvent = v.object({ client: v.object({ user: v.string() }) });

/** Opens the system view; it knows the servers of the cluster from their own reports. */
export async function createSystemBus(bus: Bus): Promise<SystemBus> {
  const { nats, clock } = bus;
  // By name, which is unique in a cluster: the id is another after each start of a server.
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
  /** Ends as soon as every server answered. */
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
  // A server that was started again holds what it had on disk: whoever watches must look at once.
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
    onConnect(account, run) {
      const subscription = nats.subscribe(`$SYS.ACCOUNT.${account}.CONNECT`, {
        callback(error, message) {
          const user = error === null ? readConnectEvent(message.string()) : undefined;
          if (user !== undefined) run(user);
        },
      });
      return () => subscription.unsubscribe();
    },
    connectedUsers: (account) => listConnectedUsers(account, askAll),
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
