import * as v from "valibot";
import { serverOfPeer } from "./peer-id.ts";
import { readAnswer } from "./read-answer.ts";
import type { SystemBus } from "./system.ts";

/** What the leader of a group says of one of its servers. */
export interface Follower {
  server: string;
  /** Whether it has everything that the group decided. */
  current: boolean;
  /** Whether the leader does not reach it. */
  offline: boolean;
  /** How many entries it lacks. */
  lag: number;
}

/** A stream and where it is stored. */
export interface PlacedStream {
  name: string;
  /** Empty during an election; the server itself where there is no cluster. */
  leader: string;
  /** How many servers should store it. */
  replicas: number;
  followers: readonly Follower[];
  messages: number;
  /** What it takes on one server. */
  bytes: number;
}

/** The disk of a server, in bytes. */
export interface ServerDisk {
  stored: number;
  /** As many it may store in all. */
  max: number;
}

/** The JetStream group of a bus. */
export interface Membership {
  /** Whether the bus is a cluster. */
  clustered: boolean;
  /** The server that decides which server stores what; empty during an election. */
  leader: string;
  /** The other servers of the group, as the leader sees them. */
  followers: readonly Follower[];
  /** Names of the servers that answered, with their versions. */
  answered: ReadonlyMap<string, string>;
  /** By name, of the servers that answered and store something. */
  disks: ReadonlyMap<string, ServerDisk>;
  /** Streams of the account, by name. */
  streams: readonly PlacedStream[];
}

const follower = v.object({
  name: v.string(),
  current: v.optional(v.boolean(), false),
  offline: v.optional(v.boolean(), false),
  lag: v.optional(v.number(), 0),
});
const group = { leader: v.optional(v.string(), ""), replicas: v.optional(v.nullable(v.array(follower)), []) };
const stream = v.object({
  name: v.string(),
  cluster: v.optional(v.object(group)),
  config: v.object({ num_replicas: v.optional(v.number(), 1) }),
  state: v.object({ messages: v.number(), bytes: v.optional(v.number(), 0) }),
});
const answer = v.object({
  server: v.object({ name: v.string(), ver: v.optional(v.string(), "") }),
  data: v.object({
    /** Bytes on its disk. */
    storage: v.optional(v.number(), 0),
    config: v.optional(v.object({ max_storage: v.optional(v.number(), 0) })),
    meta_cluster: v.optional(v.object(group)),
    account_details: v.optional(
      v.nullable(v.array(v.object({ id: v.string(), stream_detail: v.optional(v.array(stream), []) }))),
      [],
    ),
  }),
});

/**
 * Asks every server which servers the JetStream group has, and which of them store each stream (NATS document
 * "Monitoring", `jsz`).
 *
 * @param account public key of the account that owns the streams
 * @param known names of servers that may be away, and of which the others may know the ID alone
 */
export async function readMembership(
  system: Pick<SystemBus, "queryServers">,
  account: string,
  known: readonly string[],
): Promise<Membership> {
  const texts = await system.queryServers("JSZ", { accounts: true, streams: true, config: true });
  const answers = texts.flatMap((text) => readAnswer(answer, text) ?? []);
  const answered = new Map(answers.map(({ server }) => [server.name, server.ver]));
  const streams = new Map<string, PlacedStream>();
  let leading: v.InferOutput<typeof answer> | undefined;
  for (const one of answers) {
    const { server, data } = one;
    if (data.meta_cluster?.leader === server.name) leading = one;
    const own = data.account_details?.filter(({ id }) => id === account) ?? [];
    for (const { name, cluster, config, state } of own.flatMap(({ stream_detail }) => stream_detail)) {
      const leader = cluster === undefined ? server.name : cluster.leader;
      // Only the leader's list of the others is complete at any time.
      if (leader !== server.name && streams.has(name)) continue;
      streams.set(name, {
        name,
        leader,
        replicas: config.num_replicas,
        followers: leader === server.name ? followersOf(cluster, known) : [],
        messages: state.messages,
        bytes: state.bytes,
      });
    }
  }
  return {
    clustered: answers.some(({ data }) => data.meta_cluster !== undefined),
    leader: leading?.server.name ?? "",
    followers: followersOf(leading?.data.meta_cluster, known),
    answered,
    disks: disksOf(answers),
    streams: [...streams.values()].sort((one, other) => one.name.localeCompare(other.name, "en")),
  };
}

function disksOf(answers: readonly v.InferOutput<typeof answer>[]): Membership["disks"] {
  return new Map(
    answers.flatMap(({ server, data: { storage, config } }) => {
      const max = config?.max_storage ?? 0;
      return max > 0 ? [[server.name, { stored: storage, max }] as const] : [];
    }),
  );
}

function followersOf(
  found: { replicas: readonly v.InferOutput<typeof follower>[] | null } | undefined,
  known: readonly string[],
): Follower[] {
  return (found?.replicas ?? [])
    .map(({ name, ...rest }) => ({ server: serverOfPeer(name, known), ...rest }))
    .sort((one, other) => one.server.localeCompare(other.server, "en"));
}
