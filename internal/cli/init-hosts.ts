import { defined } from "../base/defined.ts";
import { SvcError } from "../base/errors.ts";
import { type Cli, formatFields, readFlag } from "../program/command-line/mod.ts";
import { parseHosts, parsePort, programs, shellWord } from "./host-words.ts";
import { operatorName } from "./operator.ts";
import { busVersion, initHosts } from "./setup/mod.ts";

const sizes = [3, 5, 7];

interface HostsArgs {
  dir: string;
  hosts?: string | undefined;
  host?: string | undefined;
  advertise?: string | undefined;
  org: string;
  "bus-port": string;
  "api-port": string;
  "route-port": string;
  "site-port"?: string | undefined;
}

/** Creates a fleet whose bus is a cluster, and prints what is where and what to do next. */
export async function printHosts(args: HostsArgs, cli: Cli): Promise<void> {
  for (const name of ["host", "advertise"] as const) {
    if (args[name] === undefined) continue;
    throw new SvcError("usage", `--${name} is for a fleet of one host: leave it out, or leave out --hosts`);
  }
  const made = await initHosts({
    dir: args.dir,
    hosts: readHosts(args.hosts),
    hostname: cli.hostname,
    busPort: readFlag("--bus-port", args["bus-port"], parsePort),
    apiPort: readFlag("--api-port", args["api-port"], parsePort),
    routePort: readFlag("--route-port", args["route-port"], parsePort),
    organization: args.org,
    owner: operatorName(),
    programs: programs(),
    ...defined({
      busVersion: await busVersion(programs(), cli),
      sitePort:
        args["site-port"] === undefined ? undefined : readFlag("--site-port", args["site-port"], parsePort),
    }),
    clock: cli.clock,
    random: cli.random,
  });
  const { dir, pin, hosts, files } = made;
  const next = hosts.map(({ host, dir: own }) => ({
    host,
    copy: `rsync -a ${shellWord(`${own}/`)} ${shellWord(`${host}:${own}/`)}`,
    command: `svc-master --config ${shellWord(`${own}/master.yaml`)}`,
  }));
  const data = {
    ...{ dir, spki_pin: pin, bus_urls: made.busUrls, master_urls: made.masterUrls, hosts, next },
    files: files.map(({ path, mode }) => ({ file: path, mode: mode.toString(8) })),
  };
  await cli.print(data, () =>
    [
      formatFields([
        ["Directory", dir],
        ...hosts.map(
          ({ host }) =>
            [`  ${host}/`, "for this host: keys, bus, and the configuration of its master"] as const,
        ),
        ["  svc.yaml", "configuration of the operator's svc"],
        ["  operator/", "file of the first operator, which svc.yaml names"],
        ["  peel.yaml", "configuration of every peel"],
        ["  peel/", "the CA that a peel knows the bus by"],
        ["  systemd/", "unit of a peel; that of a master is with its host"],
        ["  offline/", "the root key and other keys that nothing needs that runs"],
        ["CA pin", pin],
      ]),
      "",
      "Copy each directory to its host, to the same path:",
      ...next.map(({ copy }) => `  ${copy}`),
      "",
      "Start the master on each host:",
      ...next.map(({ command }) => `  ${command}`),
    ].join("\n"),
  );
  cli.say("");
  cli.say(`Take ${dir}/offline to a safe place, and remove from this host what belongs to the others.`);
}

/** @throws SvcError `usage` */
function readHosts(text: string | undefined): string[] {
  const hosts = parseHosts("--hosts", text);
  if (sizes.includes(hosts.length)) return hosts;
  throw new SvcError(
    "usage",
    `--hosts: ${hosts.length} ${hosts.length === 1 ? "host" : "hosts"}: name three, five or seven, as a cluster works while most of its servers run`,
  );
}
