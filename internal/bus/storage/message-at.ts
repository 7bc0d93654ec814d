import type { Bus } from "../connection/mod.ts";
import { type GotMessage, getMessage, isNotFound, orStorageError } from "../jetstream/mod.ts";

/**
 * The message at a place in a stream, with one request.
 *
 * @returns `undefined` when the stream holds none there: it was removed or replaced, or is damaged
 * @throws SvcError `storage`
 */
export function messageAt(
  bus: Pick<Bus, "nats">,
  stream: string,
  sequence: number,
): Promise<GotMessage | undefined> {
  return orStorageError(`the stream ${stream}`, async () => {
    try {
      return await getMessage(bus, stream, { seq: sequence });
    } catch (thrown) {
      // The server answers the same in all these cases.
      if (isNotFound(thrown)) return undefined;
      throw thrown;
    }
  });
}
