import type { Bus } from "./connect.ts";
import { listStreams } from "./jetstream/list-streams.ts";

/** The number of replicas of each stream. @throws JetStreamError, NatsError when JetStream does not answer */
export async function listReplicas(bus: Pick<Bus, "nats">): Promise<number[]> {
  return (await listStreams(bus)).map(({ replicas }) => replicas);
}
