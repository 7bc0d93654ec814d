import { type NatsConnection, NatsError, type RequestManyOptions, RequestStrategy } from "nats";
import * as v from "valibot";
import type { Bus } from "./connect.ts";
import { type ConnectedUser, listConnectedUsers, nameOfUser } from "./connected-users.ts";
import { type LeafNode, listLeafNodes } from "./leaf-nodes.ts";
import { readAnswer } from "./replicas/read-answer.ts";
import type { BusServerInfo } from "./replicas/servers.ts";

// What the system account of a NATS server offers (NATS documents "System events", "Account resolver"), as
// far as revocation and provisioning use it.

/** Timeout for the replies of all servers, milliseconds. */
const answerMs = 2_000;
/** At the start: how long after the last reply no further server is expected. */
const quietMs = 300;
/** Every server sends a report each 10 s; after three missing reports it counts as gone. */
const goneMs = 35_000;

/** What one server offers to all its accounts, and what the limits of all streams together reserve, bytes. */
export interface ServerStorage {
  storage: number;
  memory: number;
  reservedStorage: number;
}

/** The bus seen by its system user. */
export interface SystemBus {
  /** How many servers the cluster has, and how many of them run JetStream. */
  servers(): { total: number; jetstream: number };
  /** The servers that reported lately, by name. */
  present(): BusServerInfo[];
  /** What every server answers to a request of the monitoring, as far as they answered within 2 s. */
  askServers(kind: "HEALTHZ" | "JSZ", options: Readonly<Record<string, unknown>>): Promise<string[]>;
  /**
   * Gives every server new claims of an account.
   *
   * @returns whether every server accepted them within 2 s
   */
  pushClaims(jwt: string): Promise<boolean>;
  /**
   * The claims of an account as each server stores them now: one per server that answered within 2 s, fewer
   * than the number of servers if some do not answer. Behind them, other claims by which a server still judges: it may
   * load an account while it stores new claims of it, and then keeps the earlier ones in memory.
   */
  lookupClaims(account: string): Promise<string[]>;
  /** What each server with JetStream offers, as far as they answered within 2 s. */
  storage(): Promise<ServerStorage[]>;
  /**
   * Calls `began` and `ended` with each connection of this account, and `unsure` when some events may be
   * missing: a server started, or this connection was interrupted.
   */
  followConnections(account: string, run: ConnectionListener): () => void;
  /** The users of this account that are connected to the servers that answered within 2 s, one per connection. */
  connectedUsers(account: string): Promise<ConnectedUser[]>;
  /** The servers that are linked to the bus without being a part of it; `undefined` when no server answered. */
  leafNodes(): Promise<LeafNode[] | undefined>;
  /** Calls `run` when a new server appears, or a server has restarted. */
  onServerJoin(run: () => void): () => void;
  stop(): void;
}

/** A connection of a bus user. */
export interface UserConnection extends ConnectedUser {
  /** Unique in the cluster while its server runs. */
  id: string;
}

export interface ConnectionListener {
  began(connection: UserConnection): void;
  ended(connection: UserConnection): void;
  unsure(): void;
}

const serverReport = v.object({
  server: v.object({
    name: v.string(),
    id: v.string(),
    ver: v.optional(v.string(), ""),
    jetstream: v.optional(v.boolean(), false),
  }),
});
const storageReply = v.object({
  data: v.object({
    config: v.object({ max_storage: v.number(), max_memory: v.number() }),
    reserved_storage: v.optional(v.number(), 0),
  }),
});
/** A server that has not loaded the account answers with an error. */
const loadedReply = v.object({
  data: v.object({ account_detail: v.object({ jwt: v.pipe(v.string(), v.minLength(1)) }) }),
});
const claimsReply = v.object({ data: v.object({ code: v.number() }) });
const connectionEvent = v.object({
  server: v.object({ id: v.string() }),
  client: v.object({
    id: v.number(),
    user: v.string(),
    name_tag: v.optional(v.string(), ""),
    jwt: v.optional(v.string(), ""),
  }),
});

/** Opens the system view, which learns the servers of the cluster from their reports. */
export async function createSystemBus(bus: Bus): Promise<SystemBus> {
  const { nats, clock } = bus;
  // By name, which is unique in a cluster: the ID of a server changes at each start.
  const known = new Map<string, { id: string; version: string; jetstream: boolean; seenAt: number }>();
  const onJoin = new Set<() => void>();
  /** By account, for those whose connections are followed. */
  const connections = new Map<string, AccountConnections>();

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
    const report = readAnswer(serverReport, text);
    if (report === undefined) return;
    const { name, id, ver: version, jetstream } = report.server;
    const seenAt = clock.monotonic();
    const before = known.get(name);
    known.set(name, { id, version, jetstream, seenAt });
    if (before?.id === id && !isGone(before.seenAt)) return;
    for (const run of onJoin) run();
  };
  const isGone = (seenAt: number) => seenAt < clock.monotonic() - goneMs;
  const present = () => [...known].flatMap(([name, one]) => (isGone(one.seenAt) ? [] : [{ name, ...one }]));
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
    present: () =>
      present()
        .map(({ name, version }) => ({ name, version }))
        .sort((one, other) => one.name.localeCompare(other.name, "en")),
    askServers: (kind, options) => askAll(`$SYS.REQ.SERVER.PING.${kind}`, JSON.stringify(options)),
    async pushClaims(jwt) {
      const expected = total();
      const replies = await askAll("$SYS.REQ.CLAIMS.UPDATE", jwt);
      return replies.filter((text) => readAnswer(claimsReply, text)?.data.code === 200).length >= expected;
    },
    async storage() {
      const replies = await askAll("$SYS.REQ.SERVER.PING.JSZ", "{}");
      return replies.flatMap((text) => {
        const { config, reserved_storage: reservedStorage } = readAnswer(storageReply, text)?.data ?? {};
        if (config === undefined || reservedStorage === undefined || config.max_storage <= 0) return [];
        return [{ storage: config.max_storage, memory: config.max_memory, reservedStorage }];
      });
    },
    async lookupClaims(account) {
      const stored = await askAll(`$SYS.REQ.ACCOUNT.${account}.CLAIMS.LOOKUP`);
      const answers = await askAll("$SYS.REQ.SERVER.PING.ACCOUNTZ", JSON.stringify({ account }));
      const loaded = answers.flatMap((text) => readAnswer(loadedReply, text)?.data.account_detail.jwt ?? []);
      return [...stored, ...loaded.filter((jwt) => !stored.includes(jwt))];
    },
    followConnections(account, listener) {
      const events = connections.get(account) ?? followAccount(nats, account);
      connections.set(account, events);
      events.listeners.add(listener);
      const unsubscribe = bus.onReconnect(listener.unsure);
      onJoin.add(listener.unsure);
      return () => {
        unsubscribe();
        onJoin.delete(listener.unsure);
        events.listeners.delete(listener);
        if (events.listeners.size > 0 || connections.get(account) !== events) return;
        connections.delete(account);
        events.stop();
      };
    },
    connectedUsers: (account) => listConnectedUsers(account, askAll),
    leafNodes: () => listLeafNodes(askAll),
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

interface AccountConnections {
  readonly listeners: Set<ConnectionListener>;
  stop(): void;
}

/** The connections of an account for all who follow them: the bus sends each event once, and it is read once. */
function followAccount(nats: NatsConnection, account: string): AccountConnections {
  const listeners = new Set<ConnectionListener>();
  const follow = (event: "CONNECT" | "DISCONNECT", kind: "began" | "ended") =>
    nats.subscribe(`$SYS.ACCOUNT.${account}.${event}`, {
      callback(error, message) {
        const found = error === null ? readAnswer(connectionEvent, message.string()) : undefined;
        if (found === undefined) return;
        const { id, user, name_tag: tag, jwt } = found.client;
        const connection = { id: `${found.server.id} ${id}`, user, name: nameOfUser(jwt, tag), jwt };
        for (const listener of listeners) listener[kind](connection);
      },
    });
  const following = [follow("CONNECT", "began"), follow("DISCONNECT", "ended")];
  return {
    listeners,
    stop() {
      for (const subscription of following) subscription.unsubscribe();
    },
  };
}
