import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { SvcError } from "../base/errors.ts";
import { formatAddress } from "../base/names/address.ts";
import { advertiseUrlProblem } from "../base/names/bus-url.ts";
import { parseNames } from "../base/names/subject-name.ts";
import { readListFlag } from "../program/command-line/mod.ts";

/** Where packages put the programs. */
const packagedPrograms = "/usr/bin";

/** The directory of this program, if the other programs are in it. */
export function programs(): string {
  const beside = dirname(process.execPath);
  return existsSync(join(beside, "svc-master")) ? beside : packagedPrograms;
}

/** A port of a flag. @throws SvcError `usage` */
export function parsePort(text: string): number {
  const port = /^[0-9]{1,5}$/.test(text) ? Number(text) : 0;
  if (port >= 1 && port <= 65_535) return port;
  throw new SvcError("usage", `${JSON.stringify(text.slice(0, 20))} is not a port: 1 to 65535`);
}

/** A name or address of a host. @throws SvcError `usage` */
export function parseHost(text: string): string {
  const [name] = parseNames([text]);
  return name?.value ?? text;
}

/**
 * Hosts of a cluster, separated by commas: names or addresses at which all of them reach each other.
 *
 * @param flag for messages
 * @throws SvcError `usage`
 */
export function parseHosts(flag: string, text: string | undefined): string[] {
  const hosts = readListFlag(flag, text, (name) => {
    if (name.includes("*")) throw new SvcError("usage", `${name} is a pattern: name each host`);
    const host = parseHost(name);
    const problem = advertiseUrlProblem(`tls://${formatAddress({ host, port: 4222 })}`);
    if (problem !== undefined) throw new SvcError("usage", `${host}: ${problem}`);
    return host;
  });
  const twice = hosts.find((host, i) => hosts.indexOf(host) !== i);
  if (twice !== undefined) throw new SvcError("usage", `${flag}: ${twice} is named twice`);
  return hosts;
}

/** A word of a command line as one would type it. */
export function shellWord(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
