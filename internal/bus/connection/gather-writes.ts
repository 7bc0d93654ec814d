import type { NatsConnection } from "nats";

/** The part of the client library that sends, which its types do not show. */
interface Protocol {
  flushPending(): void;
  close(): Promise<void>;
  outbound: { size(): number };
}

/** What waits is sent at once from this size on, bytes; the client library has the same limit. */
const maxBytes = 32 * 1024;

/**
 * Sends with one write what is published in one turn of the event loop. The client library writes at the end of each
 * microtask queue, so that a master that answers several messages writes as often, and each write is a system call, a
 * TLS record, and a wakeup of the bus.
 *
 * @param later runs its argument after all input that is there now was handled
 */
export function gatherWrites(nats: NatsConnection, later: (run: () => void) => void = setImmediate): void {
  const protocol = protocolOf(nats);
  if (protocol === undefined) return;
  const flush = protocol.flushPending.bind(protocol);
  const close = protocol.close.bind(protocol);
  let waits = false;
  protocol.flushPending = () => {
    if (protocol.outbound.size() >= maxBytes) return flush();
    if (waits) return;
    waits = true;
    later(() => {
      waits = false;
      flush();
    });
  };
  protocol.close = () => {
    flush();
    return close();
  };
}

function protocolOf(nats: object): Protocol | undefined {
  const protocol = "protocol" in nats ? nats.protocol : undefined;
  const has = (name: string) => typeof protocol === "object" && protocol !== null && name in protocol;
  return ["flushPending", "close", "outbound"].every(has) ? (protocol as Protocol) : undefined;
}
