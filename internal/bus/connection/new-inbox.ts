import { createInbox } from "nats";
import type { Bus } from "./connect.ts";

/**
 * A reply subject for this connection. Its user may subscribe only below its own prefix, which the client library uses
 * for its own requests alone.
 */
export function newInbox({ nats }: Pick<Bus, "nats">): string {
  const options = "options" in nats ? nats.options : undefined;
  if (typeof options !== "object" || options === null || !("inboxPrefix" in options)) return createInbox();
  return createInbox(typeof options.inboxPrefix === "string" ? options.inboxPrefix : undefined);
}
