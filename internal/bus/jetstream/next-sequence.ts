import type { Bus } from "../connection/mod.ts";
import { isNotFound, requestJetStream } from "./request.ts";

interface Reply {
  message: { seq: number };
}

/**
 * The sequence of the first message on a subject from a sequence on (NATS document "JetStream wire API",
 * `STREAM.MSG.GET` with `next_by_subj`).
 *
 * @param subject wildcards allowed
 * @returns `undefined` when there is none
 * @throws JetStreamError when it was refused, NatsError when no server answers in time
 */
export async function nextSequence(
  bus: Pick<Bus, "nats">,
  stream: string,
  subject: string,
  from: number,
): Promise<number | undefined> {
  const query = JSON.stringify({ seq: from, next_by_subj: subject });
  try {
    return (await requestJetStream<Reply>(bus, `$JS.API.STREAM.MSG.GET.${stream}`, query)).message?.seq;
  } catch (thrown) {
    if (isNotFound(thrown)) return undefined;
    throw thrown;
  }
}
