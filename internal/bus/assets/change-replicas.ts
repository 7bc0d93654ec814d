import { ErrorCode, NatsError } from "nats";
import { sleep } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";
import type { Bus } from "../connection/mod.ts";
import { errorCodes, isLeaderless, JetStreamError, managerOf, requestJetStream } from "../jetstream/mod.ts";
import { peerIdOf } from "../servers/mod.ts";

const checkMs = 200;

/** Where a stream is stored, as its leader sees it. */
interface Placement {
  leader: string;
  servers: string[];
  /** Whether each of them has everything. */
  complete: boolean;
}

/**
 * Changes on how many servers a stream is stored. To lower it, nats-server first waits two seconds for each consumer
 * that only servers have which are away (seen with 2.10.27): have the stream leave those before.
 *
 * @param timeoutMs for the change
 * @returns whether the servers confirmed it; otherwise they may still do it
 * @throws JetStreamError, NatsError
 */
export async function setReplicas(
  bus: Bus,
  stream: string,
  replicas: number,
  timeoutMs: number,
): Promise<boolean> {
  try {
    const manager = await managerOf(bus);
    const { config } = await manager.streams.info(stream);
    if (config.num_replicas === replicas) return true;
    // Single copies are not read from a chosen server.
    const changed = JSON.stringify({ ...config, num_replicas: replicas, allow_direct: replicas > 1 });
    await requestJetStream(bus, `$JS.API.STREAM.UPDATE.${stream}`, changed, { timeoutMs });
    return true;
  } catch (thrown) {
    if (isUnanswered(thrown)) return false;
    throw thrown;
  }
}

/**
 * Has a stream with more than one replica leave a server, with the consumers that only that server has; another one
 * takes its place if there is one.
 *
 * @returns whether the servers confirmed it; otherwise they may still do it
 * @throws JetStreamError, NatsError
 */
export async function leaveServer(bus: Bus, stream: string, server: string): Promise<boolean> {
  try {
    await requestJetStream(bus, `$JS.API.STREAM.PEER.REMOVE.${stream}`, JSON.stringify({ peer: server }));
    return true;
  } catch (thrown) {
    if (isUnanswered(thrown)) return false;
    // It left anyway, or before.
    if (thrown instanceof JetStreamError && hasLeft.has(thrown.errorCode)) return true;
    throw thrown;
  }
}

const hasLeft: ReadonlySet<number | undefined> = new Set([
  errorCodes.peerNotMember,
  errorCodes.peerNotReplaced,
]);

/** Whether nobody answered, or too few servers to decide: a moment later they may. */
const isUnanswered = (thrown: unknown): boolean =>
  isLeaderless(thrown) || (thrown instanceof NatsError && thrown.code === ErrorCode.Timeout);

/**
 * Waits until a stream is stored completely on as many servers as it should be.
 *
 * @param options.without a server that must not be one of them
 * @returns whether it was so in time
 */
export async function untilComplete(
  bus: Bus,
  stream: string,
  options: { replicas: number; without?: string; timeoutMs: number; signal?: AbortSignal },
): Promise<boolean> {
  const { replicas, without, timeoutMs, signal } = options;
  for (let waitedMs = 0; ; waitedMs += checkMs) {
    const placed = await placementOf(bus, stream);
    const isThere = placed?.complete === true && placed.servers.length === replicas;
    if (isThere && (without === undefined || !placed.servers.includes(without))) return true;
    if (waitedMs >= timeoutMs) return false;
    await sleep(bus.clock, checkMs, signal);
  }
}

/** @returns `undefined` while no leader answers */
async function placementOf(bus: Bus, stream: string): Promise<Placement | undefined> {
  try {
    const manager = await managerOf(bus);
    const { cluster } = await manager.streams.info(stream);
    if (cluster === undefined) return { leader: "", servers: [""], complete: true };
    const followers = cluster.replicas ?? [];
    if (!cluster.leader) return undefined;
    return {
      leader: cluster.leader,
      servers: [cluster.leader, ...followers.map(({ name }) => name)],
      complete: followers.every(({ current, offline }) => current && offline !== true),
    };
  } catch (thrown) {
    if (isUnanswered(thrown)) return undefined;
    throw thrown;
  }
}

/**
 * Removes a server from the JetStream group of its cluster. It needs a connection of the system account.
 *
 * @throws SvcError `unavailable` when no server leads the group
 */
export async function removeFromGroup(system: Pick<Bus, "nats">, server: string): Promise<void> {
  // By its name, a server is found only by servers that have received its reports since they started.
  const request = JSON.stringify({ peer: server, peer_id: peerIdOf(server) });
  try {
    await requestJetStream(system, "$JS.API.SERVER.REMOVE", request);
  } catch (cause) {
    throw new SvcError("unavailable", `the JetStream group did not remove ${server}: try again`, { cause });
  }
}
