import { NatsError, type RequestManyOptions, RequestStrategy } from "nats";
import * as v from "valibot";
import type { Bus } from "./connect.ts";

// What the system account of a NATS server offers (NATS documents "System events", "Account
// resolver"), as far as revocation and provisioning need it.

/** How long to wait for the answers of all servers, milliseconds. */
const answerMs = 2_000;
const confirmMs = 5_000;
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
   * @returns whether every server took them within 5 s
   */
  pushClaims(jwt: string): Promise<boolean>;
  /** The claims of an account as each server holds them now; fewer than there are servers if some are silent. */
  lookupClaims(account: string): Promise<string[]>;
  /** How many live connections a user of an account has, over all servers. */
  countConnections(account: string, user: string): Promise<number>;
  /** Calls `run` with the user key of each connection of this account that ends. */
  onDisconnect(account: string, run: (user: string) => void): () => void;
  /** Calls `run` when a server appears that was not there before. */
  onServerJoin(run: () => void): () => void;
  stop(): void;
}

const serverReport = v.object({
  server: v.object({ id: v.string(), jetstream: v.optional(v.boolean(), false) }),
});
const claimsReply = v.object({ data: v.object({ code: v.number() }) });
const connectionsReply = v.object({ data: v.object({ total: v.optional(v.number(), 0) }) });
const disconnectEvent = v.object({ client: v.object({ user: v.string() }) });

/** Opens the system view; it knows the servers of the cluster from their own reports. */
export async function createSystemBus(bus: Bus): Promise<SystemBus> {
  const { nats, clock } = bus;
  const known = new Map<string, { jetstream: boolean; seenAt: number }>();
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
  const askAll = async (subject: string, payload?: string, maxWait = answerMs) => {
    const expected = total();
    const replies = await ask(subject, payload, {
      strategy: RequestStrategy.Count,
      maxMessages: expected,
      maxWait,
    });
    if (replies.length < expected) await refresh();
    return replies;
  };
  const note = (text: string) => {
    const report = read(serverReport, text);
    if (report === undefined) return;
    const { id, jetstream } = report.server;
    const joined = !known.has(id);
    known.set(id, { jetstream, seenAt: clock.monotonic() });
    if (joined) for (const run of onJoin) run();
  };
  const present = () => {
    for (const [id, { seenAt }] of known) if (seenAt < clock.monotonic() - goneMs) known.delete(id);
    return [...known.values()];
  };
  const total = () => Math.max(1, present().length);

  const subscriptions = [
    nats.subscribe("$SYS.SERVER.*.STATSZ", { callback: (error, message) => error ?? note(message.string()) }),
    nats.subscribe("$SYS.SERVER.*.SHUTDOWN", {
      callback: (_, message) => known.delete(message.subject.split(".")[2] ?? ""),
    }),
  ];
  /** Asks who is there; whoever does not answer is not. */
  const refresh = async () => {
    const reports = await ask("$SYS.REQ.SERVER.PING", undefined, {
      strategy: RequestStrategy.JitterTimer,
      maxWait: answerMs,
      jitter: quietMs,
    });
    const before = clock.monotonic();
    for (const report of reports) note(report);
    for (const [id, { seenAt }] of known) if (seenAt < before) known.delete(id);
  };
  await refresh();
  // A server that was killed never said so; the connection noticed.
  const unsubscribe = bus.onReconnect(() => {
    refresh().catch((cause) => bus.log.warn("the servers of the bus could not be counted", { error: cause }));
  });

  return {
    servers: () => ({
      total: total(),
      jetstream: Math.max(1, present().filter((one) => one.jetstream).length),
    }),
    async pushClaims(jwt) {
      const expected = total();
      const replies = await askAll("$SYS.REQ.CLAIMS.UPDATE", jwt, confirmMs);
      return replies.filter((text) => read(claimsReply, text)?.data.code === 200).length >= expected;
    },
    async lookupClaims(account) {
      return (await askAll(`$SYS.REQ.ACCOUNT.${account}.CLAIMS.LOOKUP`)).filter((jwt) => jwt !== "");
    },
    async countConnections(account, user) {
      const query = JSON.stringify({ auth: true, acc: account, user, limit: 1 });
      const replies = await askAll("$SYS.REQ.SERVER.PING.CONNZ", query);
      return replies.reduce((sum, text) => sum + (read(connectionsReply, text)?.data.total ?? 0), 0);
    },
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
