import type { Bus } from "../../bus/connection/mod.ts";

/** Default maximum message size of the bus, and the part of it to keep free. */
const usualPayload = 1024 * 1024;
const spareBytes = 64 * 1024;

/** How many bytes of items one answer over this bus may have. */
export function answerBytes({ nats }: { nats: Pick<Bus["nats"], "info"> }): number {
  return (nats.info?.max_payload ?? usualPayload) - spareBytes;
}
