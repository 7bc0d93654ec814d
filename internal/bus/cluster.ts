import type { Bus } from "./connect.ts";

/** How long to wait for further servers to answer, milliseconds. */
const quietMs = 500;

/**
 * Counts the servers of the cluster that run JetStream, by asking each as the system user
 * (NATS document "System events": `$SYS.REQ.SERVER.PING`).
 *
 * @returns at least 1: the server this client is connected to
 */
export async function countServers(system: Bus): Promise<number> {
  const servers = new Set<string>();
  const replies = await system.nats.requestMany("$SYS.REQ.SERVER.PING", new Uint8Array(), {
    strategy: "timer",
    maxWait: quietMs,
  } as Parameters<typeof system.nats.requestMany>[2]);
  for await (const reply of replies) {
    const { server } = reply.json<{ server?: { id?: string; jetstream?: boolean } }>();
    if (server?.id !== undefined && server.jetstream === true) servers.add(server.id);
  }
  return Math.max(1, servers.size);
}
