import { SvcError } from "../../base/errors.ts";
import { formatAddress } from "../../base/names/address.ts";
import { advertiseUrlProblem } from "../../base/names/bus-url.ts";
import { isSiteName } from "../../base/names/site-name.ts";
import { clusterOperations } from "../../fleet/cluster/mod.ts";
import { siteOperations } from "../../fleet/sites/mod.ts";
import { type Cli, command, flag, readFlag, value, word } from "../../program/command-line/mod.ts";
import { parseHost, parsePort, programs, shellWord } from "../host-words.ts";
import { operatorName, withBus } from "../operator.ts";
import { request } from "../request.ts";
import {
  dropSiteKeys,
  hasSiteDirectory,
  type OwnHost,
  openOwnForSites,
  readOwnHost,
  siteDirectoryOf,
  siteKeys,
  writeSite,
} from "../setup/mod.ts";
import { until } from "./watch-hosts.ts";

const timeoutMs = 20_000;
const maxAttempts = 5;

export const addSiteCommand = command({
  name: "add-site",
  description:
    "Add a site to a running fleet: a server of the bus that stands with its peels, so that each job crosses the wide link once. Run it on a host of the fleet, as the user of its directory. What an interrupted run left is continued by the next one.",
  examples: [
    "svc cluster add-site berlin --dir /srv/fleet --host leaf.berlin.example.com --dry-run",
    "svc cluster add-site berlin --dir /srv/fleet --host leaf.berlin.example.com",
  ],
  args: {
    site: word("Name of the site: a lower-case letter and up to 31 of a-z, 0-9 and -", { required: true }),
    dir: value("directory", "Directory of the fleet on this host, with master.yaml", { required: true }),
    host: value("name", "Name or address at which the peels of the site reach its server", {
      required: true,
    }),
    port: value("port", "Port of the bus at the site", { default: "4222" }),
    "site-port": value("port", "Port on which the bus of the masters listens for sites, of the first site", {
      default: "7422",
    }),
    "dry-run": flag("Show the plan, and change nothing"),
  },
  async run(args, cli) {
    const { site } = args;
    if (!isSiteName(site)) {
      throw new SvcError(
        "usage",
        `${JSON.stringify(site.slice(0, 60))} cannot name a site: use a lower-case letter and up to 31 of a-z, 0-9 and -`,
      );
    }
    const host = readFlag("--host", args.host, parseHost);
    const port = readFlag("--port", args.port, parsePort);
    const url = `tls://${formatAddress({ host, port })}`;
    const problem = advertiseUrlProblem(url);
    if (problem !== undefined) throw new SvcError("usage", `--host: ${problem}`);
    const wanted = { site, host, port, url, sitePort: readFlag("--site-port", args["site-port"], parsePort) };
    const own = readOwnHost(args.dir, 6222);
    const plan = await planOf(wanted, own, cli);
    if (args["dry-run"] === true) {
      await cli.print({ site, url, steps: plan.steps }, () => plan.steps.join("\n"));
      return;
    }
    for (const step of plan.steps) cli.say(step);
    await addSite(wanted, own, plan.isElsewhere, cli);
    await untilLinked(site, cli);
    await cli.print({ site, url, state: "up" }, () => `the site ${site} is linked`);
  },
});

interface Wanted {
  site: string;
  host: string;
  port: number;
  url: string;
  sitePort: number;
}

const readStatus = (cli: Cli) =>
  withBus(cli, (bus) => request(bus, clusterOperations.showCluster, {}, { timeoutMs }));

async function planOf(
  { site, url }: Wanted,
  own: OwnHost,
  cli: Cli,
): Promise<{ steps: string[]; isElsewhere: boolean }> {
  const { sites = [] } = await readStatus(cli);
  const known = sites.find((one) => one.site === site);
  const isHere = hasSiteDirectory(own, site);
  const dir = siteDirectoryOf(own, site);
  if (isHere && known === undefined) {
    throw new SvcError("conflict", `${dir} belongs to a site that was removed: remove that directory first`);
  }
  // Another host of the cluster, where the site was not added, only listens for it.
  const isElsewhere = known !== undefined && !isHere && siteKeys(own, site, undefined) === undefined;
  return {
    isElsewhere,
    steps: [
      ...(isHere || isElsewhere ? [] : [`write ${dir} for the site, which you copy to its host`]),
      `let the bus in ${own.dir} listen for sites, if it does not yet: that needs one restart of the master here`,
      `wait until the server of the site is linked; its peels connect to ${url}`,
    ],
  };
}

async function addSite(wanted: Wanted, own: OwnHost, isElsewhere: boolean, cli: Cli): Promise<void> {
  const { site, url } = wanted;
  const dir = siteDirectoryOf(own, site);
  const opened = await openOwnForSites(own, wanted.sitePort, cli.clock);
  if (!isElsewhere && !hasSiteDirectory(own, site)) {
    const keys = siteKeys(own, site, cli.random);
    if (keys === undefined) throw new Error("a site without keys");
    const input = {
      site,
      urls: [url],
      link_key: keys.link.publicKey,
      system_key: keys.system.publicKey,
    };
    const answer = await untilAnswered(input, cli);
    await writeSite({
      ...wanted,
      ...{ own, sitePort: opened.port, keys, answer },
      ...{ programs: programs(), user: operatorName(), clock: cli.clock, random: cli.random },
    });
    cli.say(`${dir}: written`);
  }
  if (hasSiteDirectory(own, site)) {
    dropSiteKeys(own, site);
    cli.say(`  rsync -a ${shellWord(`${dir}/`)} ${shellWord(`${wanted.host}:${dir}/`)}`);
    cli.say(`  on ${wanted.host}: svc-master --config ${shellWord(`${dir}/master.yaml`)}`);
  }
  if (opened.isChanged) {
    cli.say(
      `${own.dir}: its bus listens for sites on port ${opened.port} after a restart: systemctl restart svc-master`,
    );
  }
  const others = own.hosts.filter((host) => host !== own.own);
  if (others.length > 0) {
    cli.say(`run the same command on ${others.join(" and ")}, so that the site can be linked to each host`);
  }
}

/** Asks until the whole bus has confirmed the accounts of the site: masters answer the same request again in the same way. */
async function untilAnswered(
  input: Parameters<typeof requestOnce>[0],
  cli: Cli,
): ReturnType<typeof requestOnce> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await requestOnce(input, cli);
    } catch (thrown) {
      const isOver =
        !(thrown instanceof SvcError && thrown.kind === "unavailable") || attempt === maxAttempts;
      if (isOver) throw thrown;
      cli.say(`not every server of the bus has confirmed yet: ${thrown.message}`);
    }
  }
}

const requestOnce = (input: Parameters<typeof siteOperations.addSite.operation.run>[1], cli: Cli) =>
  withBus(cli, (bus) => request(bus, siteOperations.addSite, input, { timeoutMs }));

async function untilLinked(site: string, cli: Cli): Promise<void> {
  await until(cli, async () => {
    const { sites = [] } = await readStatus(cli);
    const found = sites.find((one) => one.site === site);
    if (found === undefined) throw new SvcError("conflict", `the site ${site} was removed meanwhile`);
    return found.state === "up" ? undefined : `waiting for the server of ${site}`;
  });
}
