import type { NatsConnection } from "nats";
import * as v from "valibot";
import { sleep } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { isOlderVersion } from "../../base/dotted-version.ts";
import { subscribe } from "../../base/subscribe.ts";
import { type Claims, readClaims } from "../../identity/mod.ts";
import { type Bus, newInbox } from "../connection/mod.ts";
import {
  type ConnectedUser,
  type ConnectedUsers,
  connectionId,
  listConnectedUsers,
  readUser,
  startField,
} from "./connected-users.ts";
import { endConnectionsOf, fewConnections, maxEnded, oldestToEnd } from "./end-connections.ts";
import { type LeafNode, listLeafNodes } from "./leaf-nodes.ts";
import { readAnswer } from "./read-answer.ts";
import type { BusServerInfo } from "./replica-servers.ts";
import { type Servers, watchServers } from "./system-servers.ts";

// What the system account of a NATS server offers (NATS documents "System events", "Account resolver"), as
// far as revocation and provisioning use it.

/** After new claims were sent: when it is first checked whether servers refuse by them, and the maximum pause. */
const firstCheckMs = 2;
const maxCheckMs = 100;

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
  queryServers(kind: "HEALTHZ" | "JSZ", options: Readonly<Record<string, unknown>>): Promise<string[]>;
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
   * @param reported at most 32 public keys
   * @param isMeant which of these connections; those whose JWT has such a key when absent
   * @returns whether every server then answered that it has none; `false` where servers cannot do that
   */
  endConnections(
    account: string,
    reported: readonly string[],
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
    host: v.optional(v.string()),
    start: startField,
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
  const servers = await watchServers(bus);
  const { present, total, queryAll, onJoin } = servers;
  const view: View = { bus, claims, few, servers };
  /** By account, for those whose connections are followed. */
  const connections = new Map<string, AccountConnections>();
  return {
    servers: () => ({
      total: total(),
      jetstream: Math.max(1, present().filter((one) => one.jetstream).length),
    }),
    present: () =>
      present()
        .map(({ name, version }) => ({ name, version }))
        .sort((one, other) => one.name.localeCompare(other.name, "en")),
    queryServers: (kind, options) => queryAll(`$SYS.REQ.SERVER.PING.${kind}`, JSON.stringify(options)),
    pushClaims: (jwt, refused = []) => pushClaims(view, jwt, refused),
    async storage() {
      const replies = await queryAll("$SYS.REQ.SERVER.PING.JSZ", "{}");
      return replies.flatMap((text) => {
        const { config, reserved_storage: reservedStorage } = readAnswer(storageReply, text)?.data ?? {};
        if (config === undefined || reservedStorage === undefined || config.max_storage <= 0) return [];
        return [{ storage: config.max_storage, memory: config.max_memory, reservedStorage }];
      });
    },
    async lookupClaims(account) {
      const stored = await queryAll(`$SYS.REQ.ACCOUNT.${account}.CLAIMS.LOOKUP`);
      const loaded = (await queryLoaded(view, account)).filter(({ jwt }) => !stored.includes(jwt));
      return [...stored.map((jwt) => ({ jwt })), ...loaded.map(({ jwt, refuses }) => ({ jwt, refuses }))];
    },
    endConnections: (account, reported, isMeant) => endConnections(view, account, reported, isMeant),
    takesLong: () => takesLong(view),
    followConnections(account, listener) {
      const events = connections.get(account) ?? followAccount(bus.nats, account);
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
    connectedUsers: (account) => listConnectedUsers(account, queryAll, total),
    leafNodes: () => listLeafNodes(queryAll),
    onServerJoin: (run) => subscribe(onJoin, run),
    stop: servers.stop,
  };
}

/** The system account, and the connections that reach it. */
interface View {
  bus: Bus;
  claims: Bus;
  few: number;
  servers: Servers;
}

const takesLong = ({ servers, few }: View) => servers.present().some(({ connections }) => connections > few);

const canEnd = ({ servers }: View) =>
  servers.present().every(({ version }) => !isOlderVersion(version, oldestToEnd));

/** The account as each server has it in memory. */
async function queryLoaded({ servers }: View, account: string) {
  const replies = await servers.queryAll("$SYS.REQ.SERVER.PING.ACCOUNTZ", JSON.stringify({ account }));
  return replies.flatMap((text) => {
    const found = readAnswer(loadedReply, text);
    if (found === undefined) return [];
    const { jwt, revoked_user: revoked } = found.data.account_detail;
    const refuses = new Map(
      Object.entries(revoked ?? {}).map(([user, until]) => [user, Date.parse(until) / 1000] as const),
    );
    return [{ server: found.server.id, jwt, refuses }];
  });
}

async function endConnections(
  view: View,
  account: string,
  reported: readonly string[],
  isMeant: ((connection: ConnectedUser) => boolean) | undefined,
): Promise<boolean> {
  if (reported.length === 0) return true;
  if (reported.length > maxEnded || !canEnd(view)) return false;
  const { bus, servers } = view;
  const end = (id: string) => {
    const [server, cid] = id.split(" ");
    // A server does nothing without a reply subject. Nobody listens to the reply.
    bus.nats.publish(`$SYS.REQ.SERVER.${server}.KICK`, JSON.stringify({ cid: Number(cid) }), {
      reply: newInbox(bus),
    });
  };
  const isOf = isMeant ?? (({ user }) => reported.includes(user));
  return endConnectionsOf({ request: servers.queryAll, total: servers.total, end }, account, reported, isOf);
}

/** @returns whether every server accepted the claims, or refuses these users, in time */
async function pushClaims(view: View, jwt: string, refused: readonly string[]): Promise<boolean> {
  const expected = view.servers.total();
  const found = readClaims(jwt);
  const isQuick = refused.length > 0 && refused.length <= maxEnded && canEnd(view);
  if (isQuick && takesLong(view)) await endConnections(view, found.sub, refused, undefined);
  const accepted = new Set<string>();
  let count = 0;
  const pushing = view.servers
    .queryAll("$SYS.REQ.CLAIMS.UPDATE", jwt, {
      over: view.claims.nats,
      onReply(text) {
        const answer = readAnswer(claimsReply, text);
        if (answer?.data.code !== 200) return;
        accepted.add(answer.server.id);
        count++;
      },
    })
    .then(() => count >= expected);
  if (!isQuick) return pushing;
  const enough = new AbortController();
  const refusedByAll = refusedEverywhere(view, found, refused, accepted, enough.signal).catch(() => pushing);
  return Promise.race([pushing, refusedByAll]).finally(() =>
    enough.abort(new Error("the claims are in force")),
  );
}

/** Checks until every server accepted the claims, or refuses these users. @param accepted servers, by ID */
async function refusedEverywhere(
  view: View,
  { sub: account, nats: { revocations } }: Claims,
  users: readonly string[],
  accepted: ReadonlySet<string>,
  signal: AbortSignal,
): Promise<boolean> {
  const wanted = Object(revocations) as Record<string, number>;
  for (let pauseMs = firstCheckMs; ; pauseMs = Math.min(2 * pauseMs, maxCheckMs)) {
    await sleep(view.bus.clock, pauseMs, signal);
    const refusing = new Set(accepted);
    for (const { server, refuses } of await queryLoaded(view, account)) {
      if (users.every((user) => (refuses.get(user) ?? 0) >= (wanted[user] ?? 0))) refusing.add(server);
    }
    signal.throwIfAborted();
    if (view.servers.present().every(({ id }) => refusing.has(id))) return true;
  }
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
        const { id: cid, user, name_tag: tag, jwt, host, start } = found.client;
        const id = connectionId(found.server.id, cid);
        const connection = {
          id,
          ...readUser(user, jwt, tag),
          ...defined({ startedAt: start, address: host }),
        };
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
