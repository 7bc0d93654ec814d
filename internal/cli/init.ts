import { existsSync } from "node:fs";
import { isIPv6 } from "node:net";
import { join, resolve } from "node:path";
import { defined } from "../base/defined.ts";
import { SvcError } from "../base/errors.ts";
import { type Address, parseAddress } from "../base/names/address.ts";
import {
  type Cli,
  command,
  formatFields,
  readFlag,
  readListFlag,
  value,
  word,
} from "../program/command-line/mod.ts";
import { parseHost, parsePort, programs, shellWord } from "./host-words.ts";
import type { Setup, Wishes } from "./setup/mod.ts";

const defaultApiPort = 8443;

/** What describes a new fleet; also for one that succeeds another. */
export const initArgs = {
  dir: word("Directory of the fleet", { required: true }),
  host: value(
    "name,...",
    "Names and addresses at which other hosts reach this host; without any, the fleet is for this host only",
  ),
  advertise: value("host[:port]", "Address at which peels reach the master (default: the first --host)"),
  org: value("name", "Organization in the CA's names", { default: "svc" }),
  "bus-port": value("port", "Port of the bus", { default: "4222" }),
  "api-port": value("port", "Port of the HTTPS listener", { default: `${defaultApiPort}` }),
  "site-port": value(
    "port",
    "Port on which the bus listens for sites from the start (see svc cluster add-site); off unless given",
  ),
} as const;

/** Their values. */
interface InitArgs {
  dir: string;
  host?: string | undefined;
  advertise?: string | undefined;
  "bus-port": string;
  "api-port": string;
  "site-port"?: string | undefined;
}

export const initCommand = command({
  name: "init",
  description:
    "Create a fleet for one host, or for a cluster: CA, bus, and the configuration of master, operator and peels. Existing files are never overwritten.",
  examples: [
    "svc init /srv/fleet --host master.example.com",
    "svc init /srv/fleet --hosts n1.example.com,n2.example.com,n3.example.com",
    "svc init ./fleet",
  ],
  args: {
    ...initArgs,
    hosts: value(
      "name,...",
      "Names of three, five or seven hosts: a cluster, with one directory for each host that is copied to it",
    ),
    "route-port": value("port", "With --hosts: port on which the servers of the bus reach each other", {
      default: "6222",
    }),
  },
  async run(args, cli) {
    // Certificates and the bus client are not loaded for other commands.
    const { busVersion, initFleet } = await import("./setup/mod.ts");
    const { operatorName } = await import("./operator.ts");
    if (args.hosts !== undefined) {
      const { printHosts } = await import("./init-hosts.ts");
      return printHosts(args, cli);
    }
    const { "route-port": routePort } = args;
    readFlag("--route-port", routePort, parsePort);
    const made = await initFleet({
      ...readWishes(args, cli),
      organization: args.org,
      owner: operatorName(),
      programs: programs(),
      ...defined({ busVersion: await busVersion(programs(), cli) }),
      clock: cli.clock,
      random: cli.random,
    }).catch((cause) => {
      throw sayWhatIsTaken(cause, args.dir);
    });
    const next = nextCommands(made);
    const files = made.files.map(({ path, mode }) => ({ file: path, mode: mode.toString(8) }));
    const data = { dir: made.plan.dir, spki_pin: made.pin, master_url: made.plan.masterUrl, files, next };
    await cli.print(data, () =>
      [
        formatFields([
          ["Directory", made.plan.dir],
          ["  master.yaml", "configuration of the master, which runs its bus itself"],
          ["  svc.yaml", "configuration of the operator's svc"],
          ["  peel.yaml", "configuration of every peel"],
          ["  operator/", "file of the first operator, which svc.yaml names"],
          ["  operator.token", "token for the REST API"],
          ["  auth/", "CA, accounts and keys: keep a copy in a safe place"],
          ["  bus/", "certificate, configuration and data of the bus"],
          ["  peel/", "data of a peel on this host, and the CA it knows the bus by"],
          ["  states/", "for state files: the desired state of hosts"],
          ["  settings/", "for settings files: values for states and hosts"],
          ["  reactor/", "for rules: what is to happen on events"],
          ["  systemd/", "units for master and peel"],
          ["CA pin", made.pin],
        ]),
        ...next.flatMap(({ purpose, command: line }) => ["", `${purpose}:`, `  ${line}`]),
      ].join("\n"),
    );
    cli.say("");
    cli.say(
      `Take ${join(made.plan.paths.auth, "recovery.seed")}, operator.seed and masters.seed, and root.key of`,
    );
    cli.say(
      "its ca, to a safe place: nothing that runs needs them. After a theft of a master, only recovery.seed",
    );
    cli.say("moves the peels to a new fleet: see svc fleet succeed --help.");
  },
});

/** A file that exists, with what to do: it may be what an interrupted run left. Other errors stay as they are. */
export function sayWhatIsTaken(cause: unknown, dir: string): unknown {
  if (!(cause instanceof SvcError && cause.kind === "conflict")) return cause;
  const path = resolve(dir);
  // It is written last.
  const again = existsSync(join(path, "master.yaml"))
    ? ""
    : `, or remove ${path} if an interrupted run left it, which has no master.yaml`;
  return new SvcError("conflict", `${cause.message}: choose another directory${again}`, { cause });
}

/** What the flags wish for. @throws SvcError `usage` */
export function readWishes(
  args: InitArgs,
  { hostname }: Pick<Cli, "hostname">,
): Wishes & { sitePort?: number } {
  const apiPort = readFlag("--api-port", args["api-port"], parsePort);
  return {
    dir: args.dir,
    hosts: readListFlag("--host", args.host, parseHost),
    ...(args.advertise === undefined
      ? {}
      : { advertise: readFlag("--advertise", args.advertise, (text) => parseAdvertise(text, apiPort)) }),
    hostname,
    busPort: readFlag("--bus-port", args["bus-port"], parsePort),
    apiPort,
    ...defined({ sitePort: readSitePort(args) }),
  };
}

/** @throws SvcError `usage` */
const readSitePort = ({ "site-port": text }: Pick<InitArgs, "site-port">): number | undefined =>
  text === undefined ? undefined : readFlag("--site-port", text, parsePort);

/** What to type next, in order. */
function nextCommands({ plan }: Setup): { purpose: string; command: string }[] {
  const { master, peel, operator, peelData } = plan.paths;
  const elsewhere = plan.advertisedBusUrls.length > 0;
  return [
    { purpose: "Start the master, with its bus", command: `svc-master --config ${shellWord(master)}` },
    {
      purpose: elsewhere
        ? `Start a peel, here or on a host with copies of ${plan.paths.peel} and ${plan.paths.peelBusCa}`
        : "Start a peel on this host",
      command: `SVC_DATA_DIR=${shellWord(peelData)} svc-peel --config ${shellWord(peel)}`,
    },
    {
      purpose: "Let it in: list what is pending, and approve by the id",
      command: `svc enroll list --config ${shellWord(operator)} && svc enroll approve --config ${shellWord(operator)} ID`,
    },
  ];
}

function parseAdvertise(text: string, apiPort: number): Address {
  const address = isIPv6(text)
    ? { host: text, port: apiPort }
    : (parseAddress(text) ?? parseAddress(`${text}:${apiPort}`));
  if (address === undefined || address.port === 0) {
    throw new SvcError(
      "usage",
      `${JSON.stringify(text.slice(0, 60))} is not host or host:port, such as svc.example.com:8443`,
    );
  }
  return { ...address, host: parseHost(address.host) };
}
