import type { Socket } from "bun";
import type { Clock, Timer } from "../../base/clock.ts";
import type { FrontReason } from "./report.ts";
import type { Source } from "./sources.ts";
import { type Closing, createConnectionTable, type TableCounts, type TableLimits } from "./table.ts";
import { TlsStream } from "./tls-stream.ts";

const handshakeMs = 5_000;
/** How long a client may take what was sent to it before its connection was ended. */
const lingerMs = 10_000;

/** A connection with a finished handshake. */
export interface SecureConnection {
  readonly stream: TlsStream;
  readonly ip: string;
  /** A request on it had a valid token, session or key. */
  prove(): void;
}

/** A connection from its accept to its end. */
export interface Connection {
  readonly ip: string;
  /** The accepted socket, and after the upgrade the one with TLS. */
  socket: Socket<unknown>;
  stream?: TlsStream;
  timer?: Timer;
}

/** The open connections of a listener. */
export interface Connections {
  readonly counts: TableCounts;
  /** @returns whether the connection may stay; if not, it is closed */
  accept(connection: Connection, source: Source): boolean;
  /** Its handshake is finished. */
  secure(connection: Connection): void;
  has(connection: Connection): boolean;
  /** Its socket has closed. */
  closed(connection: Connection): void;
  endUnfinished(): void;
  /** Resolves when all have ended: after this time, all the remaining ones are. */
  ended(withinMs: number): Promise<void>;
}

export function createConnections({
  limits,
  report,
  onSecure,
  clock,
}: {
  limits: TableLimits;
  report(reason: FrontReason, ip: string): void;
  onSecure(connection: SecureConnection): void;
  clock: Clock;
}): Connections {
  const table = createConnectionTable<Connection>(limits);
  const open = new Set<Connection>();
  let onEmpty = () => {};
  const closed = (connection: Connection) => {
    connection.timer?.cancel();
    table.remove(connection);
    open.delete(connection);
    connection.stream?.clientGone();
    if (open.size === 0) onEmpty();
  };
  /** @returns whether this one is not among those that are closed */
  const outlives = (connection: Connection, closing: readonly Closing<Connection>[]): boolean => {
    for (const { member, reason } of closing) {
      report(reason, member.ip);
      member.timer?.cancel();
      member.socket.terminate();
    }
    return closing.every(({ member }) => member !== connection);
  };
  return {
    get counts() {
      return table.counts;
    },
    accept(connection, source) {
      if (!outlives(connection, table.accept(connection, source))) return false;
      open.add(connection);
      connection.timer = clock.after(handshakeMs, () => {
        report("handshake_time", connection.ip);
        connection.socket.terminate();
      });
      return true;
    },
    secure(connection) {
      if (!outlives(connection, table.finish(connection))) return;
      connection.timer?.cancel();
      const { ip, socket } = connection;
      const stream = new TlsStream(socket);
      connection.stream = stream;
      stream.on("error", () => stream.destroy());
      stream.on("close", () => {
        if (open.has(connection)) connection.timer = clock.after(lingerMs, () => socket.terminate());
      });
      onSecure({ stream, ip, prove: () => table.prove(connection) });
    },
    has: (connection) => open.has(connection),
    closed,
    endUnfinished() {
      for (const { stream, socket } of [...open]) if (stream === undefined) socket.terminate();
    },
    async ended(withinMs) {
      if (open.size === 0) return;
      const empty = Promise.withResolvers<void>();
      onEmpty = empty.resolve;
      const late = clock.after(withinMs, () => {
        for (const connection of [...open]) {
          connection.socket.terminate();
          closed(connection);
        }
      });
      await empty.promise;
      late.cancel();
    },
  };
}
