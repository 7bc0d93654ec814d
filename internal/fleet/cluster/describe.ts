import type { Membership, ServerHealth } from "../../bus/servers/mod.ts";

/** What a member of a cluster is like now. */
export const memberStates = ["up", "missing", "outside", "off", "broken"] as const;

/** A server of the bus, as it is shown. */
interface Member {
  server: string;
  version: string;
  state: (typeof memberStates)[number];
  problem?: string;
  /** Whether it decides which server stores what. */
  leads_group: boolean;
  /** Number of streams that it leads, and that it stores. */
  leads: number;
  stores: number;
  /** How many entries it lacks of all groups together. */
  lag: number;
  /** Bytes on its disk, and as many it may store; absent while it does not answer. */
  stored_bytes?: number;
  max_bytes?: number;
}

/** A stream, as it is shown. */
export interface ShownStream {
  stream: string;
  leader: string;
  replicas: number;
  /** What it takes on one server. */
  bytes: number;
  servers: string[];
  /** Servers that should store it and do not have all of it. */
  behind: { server: string; lag: number }[];
}

interface ClusterStatus {
  clustered: boolean;
  leader: string;
  /** How many servers should store each stream. */
  wanted_replicas: number;
  members: Member[];
  streams: ShownStream[];
  /** One sentence each. */
  problems: string[];
}

/**
 * Describes the cluster of a bus.
 *
 * @param wanted how many servers should store each stream
 */
export function describeCluster(
  membership: Membership,
  health: readonly ServerHealth[],
  wanted: number,
): ClusterStatus {
  const { clustered, leader, answered } = membership;
  const streams = membership.streams.map((one) => ({
    stream: one.name,
    leader: one.leader,
    replicas: one.replicas,
    bytes: one.bytes,
    servers: [...(one.leader === "" ? [] : [one.leader]), ...one.followers.map(({ server }) => server)],
    behind: one.followers
      .filter(({ current, offline }) => !current || offline)
      .map(({ server, lag }) => ({ server, lag })),
  }));
  const names = new Set([
    ...answered.keys(),
    ...membership.followers.map(({ server }) => server),
    ...streams.flatMap(({ servers }) => servers),
  ]);
  const members = [...names].sort().map((server): Member => {
    const { trouble, problem } = health.find(({ name }) => name === server) ?? {};
    const disk = membership.disks.get(server);
    const lags = membership.streams
      .flatMap(({ followers }) => followers)
      .filter((one) => one.server === server)
      .reduce((sum, { lag }) => sum + lag, 0);
    return {
      server,
      version: answered.get(server) ?? "",
      state: answered.has(server) ? (trouble ?? "up") : "missing",
      ...(problem === undefined ? {} : { problem }),
      leads_group: clustered && server === leader,
      leads: streams.filter((one) => one.leader === server).length,
      stores: streams.filter((one) => one.servers.includes(server)).length,
      lag: lags,
      ...(disk === undefined ? {} : { stored_bytes: disk.stored, max_bytes: disk.max }),
    };
  });
  const status = { clustered, leader, wanted_replicas: wanted, members, streams };
  return { ...status, problems: problemsOf(status) };
}

function problemsOf({
  clustered,
  leader,
  wanted_replicas,
  members,
  streams,
}: Omit<ClusterStatus, "problems">) {
  const named = (list: readonly string[]) => list.join(", ");
  const missing = members.filter(({ state }) => state === "missing").map(({ server }) => server);
  const bad = members.filter(({ state }) => state !== "missing" && state !== "up");
  const leaderless = streams.filter((one) => one.leader === "").map(({ stream }) => stream);
  const few = streams.filter(({ replicas }) => replicas < wanted_replicas).map(({ stream }) => stream);
  const behind = streams.filter((one) => one.behind.length > 0).map(({ stream }) => stream);
  return [
    ...(missing.length > 0
      ? [
          `${named(missing)} ${missing.length === 1 ? "does" : "do"} not answer: start svc-master there, or remove it with svc cluster remove`,
        ]
      : []),
    ...bad.map(({ server, state, problem }) =>
      state === "outside"
        ? `the JetStream group does not have ${server}: restart it`
        : `the storage of ${server} does not work${problem === undefined ? "" : `: ${problem}`}: restart it`,
    ),
    ...(clustered && leader === ""
      ? ["no server leads the JetStream group: most of its servers must run"]
      : []),
    ...(leaderless.length > 0 ? [`${named(leaderless)}: no leader`] : []),
    ...(few.length > 0
      ? [
          `${few.length} of ${streams.length} streams are stored on fewer than ${wanted_replicas} servers: masters raise that`,
        ]
      : []),
    ...(behind.length > 0
      ? [`${behind.length} of ${streams.length} streams are not complete on each of their servers`]
      : []),
  ];
}
