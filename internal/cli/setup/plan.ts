import { isIPv6 } from "node:net";
import { join, resolve } from "node:path";
import { type Address, formatAddress } from "../../base/address.ts";
import { advertiseUrlProblem } from "../../base/bus-url.ts";
import { SvcError } from "../../base/errors.ts";
import { parseNames } from "../../identity/ca/names.ts";

/** What the operator said about a new fleet. */
export interface Wishes {
  dir: string;
  /** Names and addresses of this host; none means the machine's own name. */
  hosts: readonly string[];
  /** Where other hosts reach the HTTPS listener; by default the first of `hosts` that others can reach. */
  advertise?: Address;
  hostname: string;
  busPort: number;
  apiPort: number;
}

/** Where everything of a new fleet is, and under which names it is reached. */
export interface Plan {
  /** Absolute. */
  dir: string;
  /** Names and addresses of the certificates. */
  names: string[];
  /** Where the bus listens. */
  busListen: Address;
  /** Where the HTTPS listener listens. */
  apiListen: Address;
  /** What this host's own programs dial. */
  busUrl: string;
  /** What peels on other hosts dial; none when the fleet is for this host alone. */
  advertisedBusUrls: string[];
  /** What peels enroll at. */
  masterUrl: string;
  paths: Record<
    | "auth"
    | "bus"
    | "busCert"
    | "busKey"
    | "busCa"
    | "busConfig"
    | "token"
    | "master"
    | "operator"
    | "peel"
    | "peelData"
    | "peelBusCa"
    | "masterUnit"
    | "peelUnit",
    string
  >;
}

/**
 * Decides what a new fleet looks like. Without a name that other hosts can use it is for this host alone:
 * then everything listens on the loopback address.
 *
 * @throws SvcError `usage` for an address to advertise that is no use to other hosts
 */
export function planFleet(wishes: Wishes): Plan {
  const { hosts, hostname, busPort, apiPort } = wishes;
  const dir = resolve(wishes.dir);
  const busUrlOf = (host: string) => `tls://${formatAddress({ host, port: busPort })}`;
  const reachable = hosts.find((host) => advertiseUrlProblem(busUrlOf(host)) === undefined);
  const outside =
    wishes.advertise ?? (reachable === undefined ? undefined : { host: reachable, port: apiPort });
  if (outside !== undefined) {
    const problem = advertiseUrlProblem(busUrlOf(outside.host));
    if (problem !== undefined) throw new SvcError("usage", `--advertise: ${problem}`);
  }
  const given = hosts.length > 0 ? hosts : ownName(hostname);
  const names = parseNames([
    ...given,
    ...(outside === undefined ? [] : [outside.host]),
    "localhost",
    "127.0.0.1",
  ]).map(({ value }) => value);
  const everywhere = outside !== undefined && isIPv6(outside.host) ? "::" : "0.0.0.0";
  const at = (...parts: string[]) => join(dir, ...parts);
  return {
    dir,
    names,
    busListen: { host: outside === undefined ? "127.0.0.1" : everywhere, port: busPort },
    apiListen: { host: outside === undefined ? "127.0.0.1" : "", port: apiPort },
    busUrl: busUrlOf("localhost"),
    advertisedBusUrls: outside === undefined ? [] : [busUrlOf(outside.host)],
    masterUrl: `https://${formatAddress(outside ?? { host: "localhost", port: apiPort })}`,
    paths: {
      auth: at("auth"),
      bus: at("bus"),
      busCert: at("bus", "nats-server.crt"),
      busKey: at("bus", "nats-server.key"),
      busCa: at("bus", "nats-ca.crt"),
      busConfig: at("bus", "nats-server.conf"),
      token: at("operator.token"),
      master: at("master.yaml"),
      operator: at("svc.yaml"),
      peel: at("peel.yaml"),
      peelData: at("peel"),
      peelBusCa: at("peel", "auth", "bus-ca.crt"),
      masterUnit: at("systemd", "svc-master.service"),
      peelUnit: at("systemd", "svc-peel.service"),
    },
  };
}

/** The machine's name, where a certificate can carry it. */
function ownName(hostname: string): string[] {
  try {
    return parseNames([hostname]).map(({ value }) => value);
  } catch {
    return [];
  }
}
