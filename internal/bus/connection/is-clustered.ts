import type { Bus } from "./connect.ts";

/** Whether the server of this connection is one of a cluster. */
export function isClustered({ nats }: Pick<Bus, "nats">): boolean {
  return nats.info?.cluster !== undefined;
}
