import * as v from "valibot";
import { readAnswer, type SystemBus } from "../servers/mod.ts";

/** What one server holds of a stream. */
export interface Replica {
  messages: number;
  /** Sequences of the oldest and of the newest message. */
  first: number;
  last: number;
}

/** A stream with more than one replica, as its servers see it at one moment. */
export interface ReplicatedStream {
  /** Empty during an election. */
  leader: string;
  /** Names of the servers that should hold it. */
  peers: readonly string[];
  /** By name of the server. */
  replicas: ReadonlyMap<string, Replica>;
  /** Whether each server answers reads of its own replica (`allow_direct`). */
  direct: boolean;
}

/** All replicated streams by name, and the servers that answered. */
export interface Inspection {
  servers: ReadonlySet<string>;
  streams: ReadonlyMap<string, ReplicatedStream>;
}

const stream = v.object({
  name: v.string(),
  cluster: v.optional(
    v.object({
      leader: v.optional(v.string(), ""),
      replicas: v.optional(v.nullable(v.array(v.object({ name: v.string() })), []), []),
    }),
  ),
  config: v.object({ num_replicas: v.number(), allow_direct: v.optional(v.boolean(), false) }),
  state: v.object({ messages: v.number(), first_seq: v.number(), last_seq: v.number() }),
});
const answer = v.object({
  server: v.object({ name: v.string() }),
  data: v.object({
    account_details: v.optional(
      v.nullable(v.array(v.object({ id: v.string(), stream_detail: v.optional(v.array(stream), []) })), []),
      [],
    ),
  }),
});

/**
 * Asks every server what it holds of each replicated stream of an account.
 *
 * @param account public key
 */
export async function inspectReplicas(
  system: Pick<SystemBus, "queryServers">,
  account: string,
): Promise<Inspection> {
  const answers = await system.queryServers("JSZ", { accounts: true, streams: true, config: true });
  const servers = new Set<string>();
  const streams = new Map<string, ReplicatedStream & { replicas: Map<string, Replica> }>();
  for (const text of answers) {
    const found = readAnswer(answer, text);
    if (found === undefined) continue;
    const { name: server } = found.server;
    servers.add(server);
    const own = found.data.account_details?.filter(({ id }) => id === account) ?? [];
    for (const { name, cluster, config, state } of own.flatMap(({ stream_detail }) => stream_detail)) {
      if (config.num_replicas < 2) continue;
      const leader = cluster?.leader ?? "";
      const entry = streams.get(name) ?? {
        leader,
        peers: [],
        replicas: new Map(),
        direct: config.allow_direct,
      };
      const replica = { messages: state.messages, first: state.first_seq, last: state.last_seq };
      entry.replicas.set(server, replica);
      // Only the leader's list is complete at any time.
      const leads = leader === server;
      const peers = leads ? [server, ...(cluster?.replicas ?? []).map((peer) => peer.name)] : entry.peers;
      streams.set(name, { ...entry, leader: leads ? server : entry.leader, peers });
    }
  }
  return { servers, streams };
}
