import * as v from "valibot";
import { readAnswer } from "./read-answer.ts";
import type { SystemBus } from "./system.ts";

/** What is wrong with the storage of a server. */
export type StorageTrouble =
  /** JetStream is off: the server holds no replica, and does not switch it on again by itself. */
  | "off"
  /** The JetStream group of its cluster has a leader, and this server is not a member: it gets no replica. */
  | "outside"
  /** Anything else that the server reports. */
  | "broken";

/** What a server says of its own storage. */
export interface ServerHealth {
  name: string;
  /** Absent when it works as it should. */
  trouble?: StorageTrouble;
  /** The words of the server; of `off` and `broken`. */
  problem?: string;
}

const health = v.object({
  server: v.object({ name: v.string() }),
  data: v.object({ status_code: v.optional(v.number()), status: v.string(), error: v.optional(v.string()) }),
});
const group = v.object({
  server: v.object({ name: v.string(), cluster: v.optional(v.string(), "") }),
  data: v.object({
    meta_cluster: v.object({
      leader: v.optional(v.string(), ""),
      replicas: v.optional(v.nullable(v.array(v.object({ name: v.string() })), []), []),
    }),
  }),
});

/**
 * Asks every server of the cluster for its health (NATS document "Monitoring", `healthz`), and whether the
 * JetStream group has it (`jsz`): servers that start at the same moment can elect a leader without one of them.
 */
export async function readHealth(system: Pick<SystemBus, "queryServers">): Promise<ServerHealth[]> {
  const [answers, groups] = await Promise.all([
    system.queryServers("HEALTHZ", {}),
    system.queryServers("JSZ", {}),
  ]);
  const outside = outsiders(groups);
  return answers
    .flatMap((text): ServerHealth[] => {
      const found = readAnswer(health, text);
      if (found === undefined) return [];
      const { name } = found.server;
      const { status, error = status } = found.data;
      if (status === "ok") return [outside.has(name) ? { name, trouble: "outside" } : { name }];
      const trouble = /not enabled/i.test(error) ? "off" : "broken";
      return [{ name, trouble, problem: error.slice(0, 300) }];
    })
    .sort((one, other) => one.name.localeCompare(other.name, "en"));
}

/** The servers of a cluster that follow the leader of its group, and that the leader does not count as a member. */
function outsiders(answers: readonly string[]): ReadonlySet<string> {
  const found = answers.flatMap((text) => readAnswer(group, text) ?? []);
  const outside = new Set<string>();
  for (const { server, data } of found) {
    if (data.meta_cluster.leader !== server.name) continue;
    const members = new Set([server.name, ...(data.meta_cluster.replicas ?? []).map(({ name }) => name)]);
    for (const other of found) {
      const follows =
        other.server.cluster === server.cluster && other.data.meta_cluster.leader === server.name;
      if (follows && !members.has(other.server.name)) outside.add(other.server.name);
    }
  }
  return outside;
}
