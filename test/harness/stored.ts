import type { Bus } from "../../internal/bus/connection/connect.ts";
import { readStream } from "../../internal/bus/streams/stream.ts";

/** The newest message a stream holds for a subject; `undefined` when there is none. */
export async function lastStored(bus: Bus, stream: string, subject: string): Promise<Uint8Array | undefined> {
  let last: Uint8Array | undefined;
  await readStream(bus, stream, subject, ({ data }) => {
    last = data;
  });
  return last;
}
