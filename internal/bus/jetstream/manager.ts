import type { JetStreamManager } from "nats";
import type { Bus } from "../connection/mod.ts";

/** The library's manager, without its check of JetStream, which fails while a cluster elects a leader. */
export function managerOf({ nats }: Pick<Bus, "nats">): Promise<JetStreamManager> {
  return nats.jetstreamManager({ checkAPI: false });
}
