import type { Membership } from "../../bus/servers/mod.ts";

/** The most servers that store a stream. */
const maxReplicas = 3;

export interface Removal {
  /** On how many servers each stream may be stored afterwards. */
  replicas: number;
  /** Streams that are stored on more servers than that. */
  lowered: string[];
  /** Streams that are stored on the server that goes, and move to another one. */
  left: { name: string; replicas: number }[];
}

/** Why a server may not be removed now, and whether that is for want of servers. */
export interface Refusal {
  reason: string;
  kind: "conflict" | "unavailable";
}

/**
 * Plans how a server leaves a cluster: streams that are stored on more servers than will be there are lowered first,
 * then those that it stores move to others, and then the group gives it up. A server that is in no group and stores
 * nothing has left.
 *
 * @param names of all streams of the fleet: a server reports only those that it stores itself
 * @returns `"gone"` when there is nothing to do
 */
export function planRemoval(
  membership: Membership,
  names: readonly string[],
  server: string,
): Removal | Refusal | "gone" {
  const { clustered, leader, followers, answered, streams } = membership;
  if (!clustered) {
    return {
      kind: "conflict",
      reason: "this bus is one server and no cluster: there is nothing to remove it from",
    };
  }
  if (leader === "") {
    return {
      kind: "unavailable",
      reason: "no server leads the JetStream group: start servers until most of them run, and try again",
    };
  }
  const group = [leader, ...followers.map((one) => one.server)];
  const stores = streams.filter(
    (one) => one.leader === server || one.followers.some((each) => each.server === server),
  );
  if (!group.includes(server) && stores.length === 0) return "gone";
  const rest = group.filter((one) => one !== server);
  if (rest.length < 2) {
    return {
      kind: "conflict",
      reason: `${server} is the last but one: one server alone of a cluster stores nothing; add another host before`,
    };
  }
  if (answered.has(server)) {
    return { kind: "conflict", reason: `${server} still runs: stop svc-master there, and try again` };
  }
  const running = rest.filter((one) => answered.has(one));
  const needed = Math.floor(group.length / 2) + 1;
  if (running.length < needed) {
    const missing = rest.filter((one) => !answered.has(one));
    return {
      kind: "conflict",
      reason: `only ${running.length} of ${group.length} servers run, and ${needed} must: start ${missing.join(", ")} before`,
    };
  }
  const unseen = names.filter((name) => streams.every((one) => one.name !== name));
  if (unseen.length > 0) {
    const away = group.filter((one) => !answered.has(one));
    return {
      kind: "conflict",
      reason: `${unseen.join(", ")}: stored on no server that runs: start svc-master on ${away.join(" and ")}, wait until svc cluster status shows another server that stores it, and try again`,
    };
  }
  const leaderless = streams.filter((one) => one.leader === "" || one.leader === server);
  if (leaderless.length > 0) {
    return {
      kind: "unavailable",
      reason: `${leaderless.map(({ name }) => name).join(", ")}: no leader at this moment; try again, and start the servers that store it if that lasts`,
    };
  }
  const replicas = Math.min(maxReplicas, rest.length);
  return {
    replicas,
    lowered: streams.filter((one) => one.replicas > replicas).map(({ name }) => name),
    left: stores
      .filter((one) => one.replicas <= replicas)
      .map(({ name, replicas: on }) => ({ name, replicas: on })),
  };
}
