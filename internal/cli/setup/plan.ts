import { isIPv6 } from "node:net";
import { join, resolve } from "node:path";
import { attempt, SvcError } from "../../base/errors.ts";
import { type Address, formatAddress } from "../../base/names/address.ts";
import { advertiseUrlProblem } from "../../base/names/bus-url.ts";
import { parseNames } from "../../base/names/subject-name.ts";

/** The operator's choices for a new fleet. */
export interface Wishes {
  dir: string;
  /** Names and addresses of this host. Empty means the machine's host name. */
  hosts: readonly string[];
  /** Address of the HTTPS listener for other hosts. Default: the first of `hosts` that they can reach. */
  advertise?: Address;
  hostname: string;
  busPort: number;
  apiPort: number;
}

/** Paths, addresses and names of a new fleet. */
export interface Plan {
  /** Absolute. */
  dir: string;
  /** DNS names and IP addresses of the certificates. */
  names: string[];
  /** Listen address of the bus. */
  busListen: Address;
  /** Listen address of the HTTPS listener. */
  apiListen: Address;
  /** Bus URL for the programs on this host. */
  busUrl: string;
  /** Bus URLs for peels on other hosts. Empty when the fleet is for this host only. */
  advertisedBusUrls: string[];
  /** URL at which peels enroll. */
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
    | "operators"
    | "peel"
    | "peelData"
    | "peelBusCa"
    | "masterUnit"
    | "peelUnit",
    string
  >;
}

/**
 * Plans a new fleet. Without a name that other hosts can reach, the fleet is for this host only, and
 * everything listens on the loopback address.
 *
 * @throws SvcError `usage` for an advertised address that other hosts cannot reach
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
      operators: at("operator"),
      peel: at("peel.yaml"),
      peelData: at("peel"),
      peelBusCa: at("peel", "auth", "bus-ca.crt"),
      masterUnit: at("systemd", "svc-master.service"),
      peelUnit: at("systemd", "svc-peel.service"),
    },
  };
}

/** The machine's host name, if a certificate can contain it. */
function ownName(hostname: string): string[] {
  return attempt(() => parseNames([hostname]).map(({ value }) => value), []);
}
