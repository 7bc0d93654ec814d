import { SvcError } from "../../base/errors.ts";
import { clusterOperations } from "../../fleet/cluster/mod.ts";
import { type Cli, command, flag, readFlag, value, word } from "../../program/command-line/mod.ts";
import { parseHosts, parsePort, shellWord } from "../host-words.ts";
import { withBus } from "../operator.ts";
import { request } from "../request.ts";
import {
  assertNoOther,
  assertOwnFleet,
  beginAdding,
  directoryOf,
  doorsOf,
  endAdding,
  joinOwn,
  type OwnHost,
  readOwnHost,
  writeHost,
} from "../setup/mod.ts";
import { openHosts } from "./open-hosts.ts";
import { formatStatus } from "./status.ts";
import { untilFormed, untilStored } from "./watch-hosts.ts";

const timeoutMs = 10_000;
const minHosts = 3;

export const addCommand = command({
  name: "add",
  description:
    "Add hosts to the cluster of a running fleet, or make a cluster of a fleet of one host. Run it on a host of the fleet, as the user of its directory. What an interrupted run left is continued by the next one.",
  examples: [
    "svc cluster add n2.example.com,n3.example.com --dir /srv/fleet --dry-run",
    "svc cluster add n2.example.com,n3.example.com --dir /srv/fleet",
  ],
  args: {
    hosts: word("Names or addresses at which all hosts reach the new ones, separated by commas", {
      required: true,
    }),
    dir: value("directory", "Directory of the fleet on this host, with master.yaml", { required: true }),
    "route-port": value("port", "Port on which the servers of the bus reach each other, of a new cluster", {
      default: "6222",
    }),
    "dry-run": flag("Show the plan, and change nothing"),
  },
  async run(args, cli) {
    const wanted = parseHosts("the hosts", args.hosts);
    const own = readOwnHost(args.dir, readFlag("--route-port", args["route-port"], parsePort));
    const answer = await withBus(cli, (bus, fleet) => {
      assertOwnFleet(own, fleet);
      return request(bus, clusterOperations.addHosts, { hosts: wanted }, { timeoutMs });
    });
    if (answer.clustered && !answer.members.includes(own.own)) {
      throw new SvcError(
        "conflict",
        `${own.dir} is that of ${own.own}, which does not belong to the cluster of ${answer.members.join(", ")}`,
      );
    }
    // A bus that was alone names its server as it likes.
    const members = answer.clustered ? answer.members : [own.own];
    const hosts = [...new Set([...own.hosts, ...members, ...wanted])];
    if (!answer.clustered) assertEnough(own, wanted, hosts);
    const added = hosts.filter((host) => !members.includes(host));
    const addition = { dir: own.dir, added, members };
    assertNoOther(addition);
    const plan = planOf(own, { hosts, added, clustered: answer.clustered });
    if (args["dry-run"] === true) {
      await cli.print({ hosts, added, steps: plan }, () => plan.join("\n"));
      return;
    }
    for (const step of plan) cli.say(step);
    if (added.length > 0) await beginAdding(addition, cli.clock);
    await addHosts({ own, hosts, added, clustered: answer.clustered }, cli);
    endAdding(own.dir);
    for (const line of elsewhere(own, hosts)) cli.say(line);
    await withStatus(cli, async (status) => {
      const others = status.members.map(({ server }) => server).filter((server) => !hosts.includes(server));
      if (others.length > 0) {
        cli.say(
          `${others.join(" and ")} joined meanwhile, and ${own.dir} does not know it: on each host, run svc cluster add ${[...added, ...others].join(",")} --dir DIRECTORY of the fleet there`,
        );
      }
      await cli.print({ hosts, added, cluster: status }, () => formatStatus(status, cli));
    });
  },
});

interface Addition {
  own: OwnHost;
  hosts: string[];
  added: string[];
  clustered: boolean;
}

async function addHosts({ own, hosts, added, clustered }: Addition, cli: Cli): Promise<void> {
  const options = { own, hosts, clock: cli.clock, random: cli.random };
  for (const host of added) {
    const dir = directoryOf(own, host);
    const isNew = await writeHost(host, options);
    cli.say(`${dir}: ${isNew ? "written" : "is there"}`);
    cli.say(`  rsync -a ${shellWord(`${dir}/`)} ${shellWord(`${host}:${dir}/`)}`);
    cli.say(`  on ${host}: svc-master --config ${shellWord(`${dir}/master.yaml`)}`);
  }
  const remote = openHosts(own, cli);
  if (added.length > 0) await untilFormed(remote, { own, hosts, added, clustered }, cli);
  const isChanged = await joinOwn(options);
  if (!clustered) {
    cli.say(
      `${own.dir}: has its place in the cluster. Restart the master here now: systemctl restart svc-master`,
    );
  } else if (isChanged) {
    cli.say(
      `${own.dir}: has the new hosts. Run the same command on each other host, and restart the masters when it suits: systemctl restart svc-master`,
    );
  }
  await untilStored(remote, { own, hosts, clustered }, cli);
}

/** What people and peels know of the hosts is theirs to change. */
function elsewhere(own: OwnHost, hosts: readonly string[]): string[] {
  const { bus, masters } = doorsOf(own, hosts);
  return [
    "When it suits, give operators and new peels all hosts. In svc.yaml, below master:",
    `  urls: [${bus.join(", ")}]`,
    "In peel.yaml, in place of master_url or master_urls:",
    `  master_urls: [${masters.join(", ")}]`,
  ];
}

function planOf(own: OwnHost, { hosts, added, clustered }: Omit<Addition, "own">): string[] {
  if (added.length === 0 && clustered && own.clustered && hosts.every((host) => own.hosts.includes(host))) {
    return [`${hosts.join(", ")} are the hosts of the cluster: nothing is left to add`];
  }
  return [
    ...added.map((host) => `write ${directoryOf(own, host)} for ${host}, which you copy to it`),
    ...(added.length > 0 ? [`wait until svc-master runs on ${added.join(" and ")}`] : []),
    `change the certificate and the configuration in ${own.dir}`,
    ...(clustered
      ? []
      : ["wait until you restart svc-master here: it moves all data to the cluster before it serves"]),
    `wait until each stream is stored on ${Math.min(3, hosts.length)} servers`,
    ...(hosts.length % 2 === 0
      ? [`note: ${hosts.length} servers survive the loss of no more of them than ${hosts.length - 1} do`]
      : []),
  ];
}

/**
 * A cluster of two servers does not survive the loss of any, and while it is made, the new one alone could not decide.
 *
 * @throws SvcError `usage`
 */
function assertEnough(own: OwnHost, wanted: readonly string[], hosts: readonly string[]): void {
  if (wanted.includes(own.own)) {
    throw new SvcError("usage", `${own.own} is the host of ${own.dir}: name only the others`);
  }
  if (hosts.length < minHosts) {
    throw new SvcError(
      "usage",
      `${hosts.join(" and ")} would be a cluster of ${hosts.length}, which works only while both run: name two hosts or more`,
    );
  }
}

/** The masters come last: also those that have just started. */
async function withStatus(
  cli: Cli,
  use: (status: Parameters<typeof formatStatus>[0]) => Promise<void>,
): Promise<void> {
  await withBus(cli, async (bus) =>
    use(await request(bus, clusterOperations.showCluster, {}, { timeoutMs })),
  );
}
