import { type Connection, createConnection } from "../../internal/agent/link/connection.ts";
import type { Bus } from "../../internal/bus/connection/connect.ts";

/** A peel's connection that stays on one connection to the bus. */
export function connectionOver(bus: Bus): Connection {
  return createConnection({
    first: { bus, urls: [] },
    open: () => Promise.reject(new Error("this connection leads nowhere else")),
    clock: bus.clock,
    jitter: () => 0,
    log: bus.log,
  });
}
