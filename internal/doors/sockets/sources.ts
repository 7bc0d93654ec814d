import { type IpNetwork, isInNetwork, parseIp, sourceOf } from "../../base/names/ip-network.ts";

/** What counts as one source of connections, and how many it may have. */
export interface Source {
  readonly key: string;
  /** Without a finished TLS handshake. */
  readonly unfinished: number;
  /** With one, and without a valid token, session or key. */
  readonly finished: number;
}

/** A named network whose addresses share a number of connections, if it sets one. */
export interface ConnectionNetwork {
  readonly name: string;
  readonly cidr: readonly IpNetwork[];
  readonly connections?: number | undefined;
}

/** An IPv4 address, or the /64 of an IPv6 address (specification, "Limits" of the listener). */
const usual = { unfinished: 8, finished: 128 } as const;

/** @param networks those with a number of connections are one source each; of several the smallest range decides */
export function createSources(networks: readonly ConnectionNetwork[]): (ip: string) => Source {
  const named = networks
    .flatMap(({ name, cidr, connections: count }) => {
      if (count === undefined) return [];
      const source = { key: `network ${name}`, unfinished: count, finished: count };
      return cidr.map((range) => ({ range, source }));
    })
    .sort((a, b) => b.range.bits - a.range.bits);
  return (ip) => {
    const address = parseIp(ip);
    const found = address && named.find(({ range }) => isInNetwork(address, range));
    return found?.source ?? { key: sourceOf(ip, address), ...usual };
  };
}
