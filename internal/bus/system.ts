import { type NatsConnection, NatsError, type RequestManyOptions, RequestStrategy } from "nats";
import * as v from "valibot";
import { sleep } from "../base/clock.ts";
import { isOlderVersion } from "../base/dotted-version.ts";
import { type Claims, readClaims } from "../identity/mod.ts";
import type { Bus } from "./connect.ts";
import {
  type ConnectedUser,
  type ConnectedUsers,
  connectionId,
  listConnectedUsers,
  readUser,
} from "./connected-users.ts";
import { endConnectionsOf, fewConnections, mostEnded, oldestToEnd } from "./end-connections.ts";
import { type LeafNode, listLeafNodes } from "./leaf-nodes.ts";
import { newInbox } from "./new-inbox.ts";
import { readAnswer } from "./replicas/read-answer.ts";
import type { BusServerInfo } from "./replicas/servers.ts";

// What the system account of a NATS server offers (NATS documents "System events", "Account resolver"), as
// far as revocation and provisioning use it.

/** Timeout for the replies of all servers, milliseconds. */
const answerMs = 2_000;
/** At the start: how long after the last reply no further server is expected. */
const quietMs = 300;
/** After new claims were sent: when it is first looked whether servers refuse by them, and the longest pause. */
const firstLookMs = 2;
const longestLookMs = 100;
/** Every server sends a report each 10 s; after three missing reports it counts as gone. */
const goneMs = 35_000;

/** What one server offers to all its accounts, and what the limits of all streams together reserve, bytes. */
export interface ServerStorage {
  storage: number;
  memory: number;
  reservedStorage: number;
}

/** Claims of an account at a server. */
export interface HeldClaims {
  /** Empty when the server does not know the account. */
  jwt: string;
  /**
   * The users that the server refuses now, public key to Unix seconds: it judges by a new list before it has looked
   * through its connections, and names new claims afterwards. Absent for claims that it only stores.
   */
  refuses?: ReadonlyMap<string, number>;
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
   * Gives every server new claims of an account. A server with thousands of connections looks through all of them
   * before it answers. So connections of users that are refused from now on are ended one by one before, where that
   * takes long and servers can do this.
   *
   * @param refused users that these claims refuse and earlier ones did not
   * @returns whether every server accepted them within 2 s, or refuses these users by then
   */
  pushClaims(jwt: string, refused?: readonly string[]): Promise<boolean>;
  /**
   * The claims of an account as each server stores them now: one per server that answered within 2 s, fewer
   * than the number of servers if some do not answer. Behind them, other claims by which a server still judges: it may
   * load an account while it stores new claims of it, and then keeps the earlier ones in memory.
   */
  lookupClaims(account: string): Promise<HeldClaims[]>;
  /**
   * Ends the connections whose clients claimed these keys; they may connect again.
   *
   * @param told at most 32 public keys
   * @param isMeant which of these connections; those whose JWT has such a key when absent
   * @returns whether every server then answered that it has none; `false` where servers cannot do that
   */
  endConnections(
    account: string,
    told: readonly string[],
    isMeant?: (connection: ConnectedUser) => boolean,
  ): Promise<boolean>;
  /** Whether a server has too many connections to apply new claims quickly. */
  takesLong(): boolean;
  /** What each server with JetStream offers, as far as they answered within 2 s. */
  storage(): Promise<ServerStorage[]>;
  /**
   * Calls `began` and `ended` with each connection of this account, and `unsure` when some events may be
   * missing: a server started, or this connection was interrupted.
   */
  followConnections(account: string, run: ConnectionListener): () => void;
  /** The users of this account that are connected to the servers that answered within 2 s, one per connection. */
  connectedUsers(account: string): Promise<ConnectedUsers>;
  /** The servers that are linked to the bus without being a part of it; `undefined` when no server answered. */
  leafNodes(): Promise<LeafNode[] | undefined>;
  /** Calls `run` when a new server appears, or a server has restarted. */
  onServerJoin(run: () => void): () => void;
  stop(): void;
}

export interface ConnectionListener {
  began(connection: ConnectedUser): void;
  ended(connection: ConnectedUser): void;
  unsure(): void;
}

const serverReport = v.object({
  server: v.object({
    name: v.string(),
    id: v.string(),
    ver: v.optional(v.string(), ""),
    jetstream: v.optional(v.boolean(), false),
  }),
  statsz: v.optional(v.object({ connections: v.optional(v.number(), 0) }), {}),
});
const storageReply = v.object({
  data: v.object({
    config: v.object({ max_storage: v.number(), max_memory: v.number() }),
    reserved_storage: v.optional(v.number(), 0),
  }),
});
/** A server that has not loaded the account answers with an error. */
const loadedReply = v.object({
  server: v.object({ id: v.string() }),
  data: v.object({
    account_detail: v.object({
      jwt: v.pipe(v.string(), v.minLength(1)),
      revoked_user: v.optional(v.nullable(v.record(v.string(), v.string()))),
    }),
  }),
});
const claimsReply = v.object({
  server: v.object({ id: v.optional(v.string(), "") }),
  data: v.object({ code: v.number() }),
});
const connectionEvent = v.object({
  server: v.object({ id: v.string() }),
  client: v.object({
    id: v.number(),
    user: v.string(),
    name_tag: v.optional(v.string(), ""),
    jwt: v.optional(v.string(), ""),
  }),
});

/**
 * Opens the system view, which learns the servers of the cluster from their reports.
 *
 * @param options.claims the connection that claims are sent on: its server reads nothing else from it until it has
 *   looked through the connections of the account
 * @param options.few how many connections of a server are few
 */
export async function createSystemBus(
  bus: Bus,
  { claims = bus, few = fewConnections }: { claims?: Bus; few?: number } = {},
): Promise<SystemBus> {
  const { nats, clock } = bus;
  // By name, which is unique in a cluster: the ID of a server changes at each start.
  const known = new Map<
    string,
    { id: string; version: string; jetstream: boolean; connections: number; seenAt: number }
  >();
  const onJoin = new Set<() => void>();
  /** By account, for those whose connections are followed. */
  const connections = new Map<string, AccountConnections>();

  const ask = async (
    subject: string,
    payload: string | undefined,
    options: RequestManyOptions & { over?: NatsConnection; onReply?(text: string): void },
  ): Promise<string[]> => {
    const { over = nats, onReply, ...rest } = options;
    const found: string[] = [];
    try {
      for await (const reply of await over.requestMany(subject, payload, rest)) {
        const text = reply.string();
        found.push(text);
        onReply?.(text);
      }
    } catch (thrown) {
      if (!(thrown instanceof NatsError)) throw thrown;
    }
    return found;
  };
  /** Ends when every server has answered. */
  const askAll = (
    subject: string,
    payload?: string,
    more: { over?: NatsConnection; onReply?(text: string): void } = {},
  ) =>
    ask(subject, payload, {
      ...{ strategy: RequestStrategy.Count, maxMessages: total(), maxWait: answerMs },
      ...more,
    });
  /** The account as each server has it in memory. */
  const askLoaded = async (account: string) =>
    (await askAll("$SYS.REQ.SERVER.PING.ACCOUNTZ", JSON.stringify({ account }))).flatMap((text) => {
      const found = readAnswer(loadedReply, text);
      if (found === undefined) return [];
      const { jwt, revoked_user: revoked } = found.data.account_detail;
      const refuses = new Map(
        Object.entries(revoked ?? {}).map(([user, until]) => [user, Date.parse(until) / 1000] as const),
      );
      return [{ server: found.server.id, jwt, refuses }];
    });
  const canEnd = () => present().every(({ version }) => !isOlderVersion(version, oldestToEnd));
  const end = (id: string) => {
    const [server, cid] = id.split(" ");
    // A server does nothing without a reply subject. Nobody listens to the reply.
    nats.publish(`$SYS.REQ.SERVER.${server}.KICK`, JSON.stringify({ cid: Number(cid) }), {
      reply: newInbox(bus),
    });
  };
  const endConnections: SystemBus["endConnections"] = async (account, told, isMeant) => {
    if (told.length === 0) return true;
    if (told.length > mostEnded || !canEnd()) return false;
    const isOf = isMeant ?? (({ user }) => told.includes(user));
    return endConnectionsOf({ ask: askAll, total, end }, account, told, isOf);
  };
  /** Looks until every server accepted the claims, or refuses these users. @param accepted servers, by ID */
  const refusedEverywhere = async (
    { sub: account, nats: { revocations } }: Claims,
    users: readonly string[],
    accepted: ReadonlySet<string>,
    signal: AbortSignal,
  ): Promise<boolean> => {
    const wanted = Object(revocations) as Record<string, number>;
    for (let pauseMs = firstLookMs; ; pauseMs = Math.min(2 * pauseMs, longestLookMs)) {
      await sleep(clock, pauseMs, signal);
      const refusing = new Set(accepted);
      for (const { server, refuses } of await askLoaded(account)) {
        if (users.every((user) => (refuses.get(user) ?? 0) >= (wanted[user] ?? 0))) refusing.add(server);
      }
      signal.throwIfAborted();
      if (present().every(({ id }) => refusing.has(id))) return true;
    }
  };
  const note = (text: string) => {
    const report = readAnswer(serverReport, text);
    if (report === undefined) return;
    const { name, id, ver: version, jetstream } = report.server;
    const { connections = 0 } = report.statsz;
    const seenAt = clock.monotonic();
    const before = known.get(name);
    known.set(name, { id, version, jetstream, connections, seenAt });
    if (before?.id === id && !isGone(before.seenAt)) return;
    for (const run of onJoin) run();
  };
  const isGone = (seenAt: number) => seenAt < clock.monotonic() - goneMs;
  const present = () => [...known].flatMap(([name, one]) => (isGone(one.seenAt) ? [] : [{ name, ...one }]));
  const total = () => Math.max(1, present().length);
  const takesLong = () => present().some(({ connections }) => connections > few);
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
    async pushClaims(jwt, refused = []) {
      const expected = total();
      const found = readClaims(jwt);
      const isQuick = refused.length > 0 && refused.length <= mostEnded && canEnd();
      if (isQuick && takesLong()) await endConnections(found.sub, refused);
      const accepted = new Set<string>();
      let count = 0;
      const pushing = askAll("$SYS.REQ.CLAIMS.UPDATE", jwt, {
        over: claims.nats,
        onReply(text) {
          const answer = readAnswer(claimsReply, text);
          if (answer?.data.code !== 200) return;
          accepted.add(answer.server.id);
          count++;
        },
      }).then(() => count >= expected);
      if (!isQuick) return pushing;
      const enough = new AbortController();
      const looking = refusedEverywhere(found, refused, accepted, enough.signal).catch(() => pushing);
      return Promise.race([pushing, looking]).finally(() =>
        enough.abort(new Error("the claims are in force")),
      );
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
      const loaded = (await askLoaded(account)).filter(({ jwt }) => !stored.includes(jwt));
      return [...stored.map((jwt) => ({ jwt })), ...loaded.map(({ jwt, refuses }) => ({ jwt, refuses }))];
    },
    endConnections,
    takesLong,
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
    connectedUsers: (account) => listConnectedUsers(account, askAll, total),
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
        const { id: cid, user, name_tag: tag, jwt } = found.client;
        const connection = { id: connectionId(found.server.id, cid), ...readUser(user, jwt, tag) };
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
