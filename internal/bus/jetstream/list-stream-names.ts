import type { Bus } from "../connection/mod.ts";
import { requestJetStream } from "./request.ts";

interface Reply {
  total: number;
  streams: string[] | null;
}

/**
 * Lists the names of all streams of the account, also of those whose servers are all away: the leader of the JetStream
 * group knows them.
 *
 * @throws JetStreamError when it was refused, NatsError when no server answers in time
 */
export async function listStreamNames(bus: Pick<Bus, "nats">): Promise<string[]> {
  const found: string[] = [];
  for (;;) {
    const query = JSON.stringify({ offset: found.length });
    const { total = 0, streams } = await requestJetStream<Reply>(bus, "$JS.API.STREAM.NAMES", query);
    found.push(...(streams ?? []));
    if (found.length >= total || (streams ?? []).length === 0) return found;
  }
}
