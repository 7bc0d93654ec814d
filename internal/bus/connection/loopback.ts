import { ADDRCONFIG } from "node:dns";
import { lookup } from "node:dns/promises";

const ownName = /^(tls:\/\/)localhost(?=[:/]|$)/i;

/**
 * A URL of the bus that this host can connect to. The name `localhost` always means this host (RFC 6761), but a
 * resolver does not find it on a host with IPv6 addresses alone whose hosts file has it for 127.0.0.1 alone: it
 * passes over addresses of a family that no other address is of.
 *
 * @returns the URL with 127.0.0.1 where the resolver does not know `localhost`, and otherwise unchanged
 */
export async function reachableUrl(
  url: string,
  find: (host: string) => Promise<unknown> = findAsConnections,
): Promise<string> {
  if (!ownName.test(url)) return url;
  return find("localhost").then(
    () => url,
    () => url.replace(ownName, "$1127.0.0.1"),
  );
}

/** A connection looks a name up with this hint; without it the name is found here, and then not there. */
function findAsConnections(host: string): Promise<unknown> {
  return lookup(host, { hints: ADDRCONFIG });
}
