import { attempt, SvcError } from "../../base/errors.ts";
import { formatAddress } from "../../base/names/address.ts";
import { findBlock, withoutBlock } from "./config-block.ts";
import { listenAddressOf } from "./port.ts";

/** The name that all servers of a fleet give their cluster. */
const clusterName = "fleet";

/** The place of one server in its cluster. */
export interface ClusterPlace {
  /** Unique in the cluster: the name of its host. */
  serverName: string;
  /**
   * The hosts that it has routes to. With the own one among them, the servers of a new cluster wait for all of each
   * other before they elect the first leader (seen with 2.15.1; 2.10.27 waits for most). Without it, all but one are
   * enough, which a server that moves its data needs.
   */
  hosts: readonly string[];
  routePort: number;
  /** Absolute paths of the certificate that other servers see, of its key, and of the roots they are verified by. */
  tls: { cert: string; key: string; ca: string };
}

/**
 * Gives the configuration of a server (NATS server 2.9 and newer) its place in a cluster. Everything else stays as
 * it was written.
 *
 * @param text `nats-server.conf`
 * @throws SvcError `bad_request` for a configuration without a `server_name` of its own line, or with braces that do
 *   not match
 */
export function joinCluster(text: string, { serverName, hosts, routePort, tls }: ClusterPlace): string {
  const named = /^server_name[ \t]*[:=]?[ \t]*.*$/m;
  if (!named.test(text)) throw new SvcError("bad_request", "nats-server.conf has no line server_name");
  const own = text.replace(named, () => `server_name: ${JSON.stringify(serverName)}`);
  const routes = hosts.map(
    (host) => `    ${JSON.stringify(`nats-route://${formatAddress({ host, port: routePort })}`)}`,
  );
  return `${withoutBlock(own, "cluster").trimEnd()}

cluster {
  # Both sides of a route show a certificate of the fleet.
  name: ${JSON.stringify(clusterName)}
  listen: ${JSON.stringify(formatAddress({ host: listensOn(own), port: routePort }))}
  routes: [
${routes.join("\n")}
  ]
  tls {
    cert_file: ${JSON.stringify(tls.cert)}
    key_file: ${JSON.stringify(tls.key)}
    ca_file: ${JSON.stringify(tls.ca)}
    verify: true
    timeout: 10
  }
}
`;
}

/**
 * The same server alone, on the loopback address and with another store. Its accounts stay where they are.
 *
 * @throws SvcError `bad_request` for a configuration without a line for each of them
 */
export function standAlone(text: string, { port, storeDir }: { port: number; storeDir: string }): string {
  const lines = [
    [/^listen[ \t]*[:=]?[ \t]*.*$/m, `listen: "127.0.0.1:${port}"`],
    [storeLine, `  store_dir: ${JSON.stringify(storeDir)}`],
  ] as const;
  let alone = withoutBlock(withoutBlock(text, "cluster"), "leafnodes");
  for (const [pattern, line] of lines) {
    if (!pattern.test(alone))
      throw new SvcError("bad_request", `nats-server.conf has no line ${line.trim().split(":")[0]}`);
    alone = alone.replace(pattern, () => line);
  }
  return alone;
}

/** The name of a server; `undefined` when it is not in the usual form. */
export function serverNameOf(text: string): string | undefined {
  const [, quoted, bare] = /^server_name[ \t]*[:=]?[ \t]*(?:"([^"]*)"|(\S+))/m.exec(text) ?? [];
  return quoted ?? bare;
}

/** Where a server stores its data; `undefined` when that is not in the usual form. */
export function storeDirOf(text: string): string | undefined {
  const [, quoted] = storeLine.exec(text) ?? [];
  return attempt(() => (quoted === undefined ? undefined : String(JSON.parse(quoted))));
}

const storeLine = /^[ \t]*store_dir[ \t]*[:=]?[ \t]*("(?:[^"\\]|\\.)*")[ \t]*$/m;

/** Whether a configuration has a place in a cluster. */
export function isOfCluster(text: string): boolean {
  return findBlock(text, "cluster") !== undefined;
}

/** The hosts that a configuration has routes to, and its own. */
export function routesOf(text: string): string[] {
  const block = findBlock(text, "cluster")?.body ?? "";
  const found = [...block.matchAll(/nats-route:\/\/(?:\[([^\]]+)\]|([^:"\]\s]+)):\d+/g)];
  const routes = found.map(([, v6, name]) => v6 ?? name ?? "");
  const own = block === "" ? undefined : serverNameOf(text);
  return own === undefined || routes.includes(own) ? routes : [...routes, own].sort();
}

/** Routes listen where clients are listened to. */
const listensOn = (text: string): string => listenAddressOf(text)?.host || "0.0.0.0";
