import type { Socket } from "bun";
import type { Clock } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";
import { reasonOf } from "../../base/files/file.ts";
import type { Log } from "../../base/log.ts";
import { formatAddress } from "../../base/names/address.ts";
import {
  type Connection,
  type Connections,
  createConnections,
  type SecureConnection,
} from "./connections.ts";
import { createReport, type FrontReason } from "./report.ts";
import { type ConnectionNetwork, createSources } from "./sources.ts";
import type { TableCounts, TableLimits } from "./table.ts";

// Connections are raw sockets first, so that they count and their time runs from accept: the TLS servers of the runtime
// show a connection only when its handshake is finished. TLS is added to each with the certificate of the moment, so a
// certificate changes without another socket, and no connection is lost.

/** `minVersion` of TLS 1.3: the runtime takes the number alone. */
const tls13 = 0x0304;

/** PEM texts of a certificate chain and its key. */
export interface Certificate {
  cert: string;
  key: string;
}

export interface FrontOptions {
  /** Empty for every address of the host. */
  host: string;
  port: number;
  certificate: Certificate;
  networks: readonly ConnectionNetwork[];
  limits: TableLimits;
  onSecure(connection: SecureConnection): void;
  onClosed(reason: FrontReason, ip: string): void;
  clock: Clock;
  log: Log;
}

export interface Front {
  readonly port: number;
  readonly counts: TableCounts;
  /** Serves new connections with this certificate; existing ones are not affected. */
  setCertificate(certificate: Certificate): void;
  /** Takes no new connections, and ends those without a finished handshake. */
  stopListening(): void;
  /** Resolves when all connections have ended: after this time, all the remaining ones are, whatever clients hold. */
  ended(withinMs: number): Promise<void>;
}

/** Listens for TLS 1.3. @throws SvcError `unavailable` */
export function openFront(options: FrontOptions): Front {
  const connections = createConnections({ ...options, report: createReport(options) });
  const sourceOf = createSources(options.networks);
  let { certificate } = options;
  const server = listen(options, (raw) => {
    const ip = normalizeIp(raw.remoteAddress);
    const connection: Connection = { ip, socket: raw };
    if (!connections.accept(connection, sourceOf(ip))) return;
    connection.socket = upgrade(raw, certificate, connection, connections, options.log);
  });
  return {
    port: server.port,
    get counts() {
      return connections.counts;
    },
    setCertificate(next) {
      certificate = next;
    },
    stopListening() {
      server.stop(false);
      connections.endUnfinished();
    },
    ended: connections.ended,
  };
}

/** Adds TLS to an accepted socket. @returns the socket with TLS, which has all further events */
function upgrade(
  raw: Socket<unknown>,
  { cert, key }: Certificate,
  connection: Connection,
  connections: Connections,
  log: Log,
): Socket<unknown> {
  const [, secured] = raw.upgradeTLS({
    ...{ isServer: true, tls: { cert, key, minVersion: tls13 }, data: undefined },
    socket: {
      open() {},
      handshake(socket, isDone, error) {
        if (!connections.has(connection)) return;
        if (isDone) return connections.secure(connection);
        log.debug("handshake failed", { error: error?.message });
        socket.terminate();
      },
      data: (_, bytes) => connection.stream?.received(bytes),
      drain: () => connection.stream?.drained(),
      close: () => connections.closed(connection),
      error: (socket) => void socket.terminate(),
    },
  } as Parameters<typeof raw.upgradeTLS<undefined>>[0]);
  return secured;
}

function listen({ host, port }: FrontOptions, accept: (raw: Socket<unknown>) => void) {
  try {
    return Bun.listen<unknown>({
      ...{ hostname: host === "" ? "::" : host, port, exclusive: true },
      // The socket with TLS has the other events.
      socket: { open: accept, data() {}, error() {} },
    });
  } catch (cause) {
    const address = formatAddress({ host, port });
    throw new SvcError("unavailable", `cannot listen on enroll.addr ${address}: ${reasonOf(cause)}`, {
      cause,
    });
  }
}

/** `::ffff:192.0.2.1` on a dual-stack socket is the IPv4 address it maps. */
function normalizeIp(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, "");
}
