import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setYamlKeys } from "../../internal/base/yaml/edit-yaml.ts";
import { natsServerDirectory } from "./bus.ts";
import { type ClusterHosts, startHosts } from "./cluster-hosts.ts";
import { binaries } from "./fleet.ts";
import { freePorts } from "./free-ports.ts";
import type { Program } from "./process.ts";
import { until } from "./until.ts";

/** A fleet of one host (host 1), with hosts for sites. */
export interface SiteFleet extends AsyncDisposable {
  readonly hosts: ClusterHosts;
  /** Directory of the fleet. */
  readonly dir: string;
  readonly sitePort: number;
  svc(...args: string[]): ReturnType<ClusterHosts["run"]>;
  startMaster(): Promise<Program>;
  /** The words of `svc cluster add-site` for a site on a host. */
  addWords(site: string, host: number): string[];
  siteDir(site: string): string;
  /** Starts the server of a site. */
  startSite(site: string, host: number, server?: string): Program;
  /** The check `certificate` of the readiness of a site. */
  certificateOf(site: Program, host: number): Promise<{ status: string; message?: string }>;
  /** Starts a peel on a host, and approves it with the label of its site. */
  startPeel(
    id: string,
    host: number,
    options?: { site?: string; flags?: string[]; label?: boolean },
  ): Promise<Program>;
  /** What the readiness of a peel says of its bus. */
  busOf(peel: Program, host: number): Promise<{ status: string; message?: string }>;
  /** What `svc cluster status` shows of a site. */
  stateOf(site: string): Promise<SiteShown | undefined>;
}

/** What `svc cluster status` shows of a site. */
interface SiteShown {
  state: string;
  peels: number;
  round_trip_ms?: number;
  certificate_ends?: string;
  certificate_root?: string;
}

/**
 * @param count how many hosts there may be
 * @param flags of `svc init`; `PORT` stands for the port of sites
 * @param programs of the version that makes the fleet
 */
export async function startSiteFleet(
  count = 4,
  flags: readonly string[] = [],
  programs: typeof binaries = binaries,
): Promise<SiteFleet> {
  const hosts = await startHosts(count);
  const [sitePort = 0] = await freePorts(1);
  const dir = join(hosts.dir, "fleet");
  const nameOf = (host: number) => hosts.names[host - 1] ?? "";
  const svcWords = (...args: string[]) => [programs.cli, "--config", join(dir, "svc.yaml"), ...args];
  const svc = (...args: string[]) => hosts.run(1, svcWords(...args));
  const made = await hosts.run(1, [
    ...[programs.cli, "init", dir, "--host", nameOf(1), ...hosts.flags],
    ...flags.map((flag) => (flag === "PORT" ? `${sitePort}` : flag)),
  ]);
  if (made.code !== 0) throw new Error(made.stderr);
  hosts.place(1, dir);
  const siteDir = (site: string) => `${dir}-site-${site}`;
  return {
    hosts,
    dir,
    sitePort,
    svc,
    siteDir,
    async startMaster() {
      const master = hosts.startMaster(1, dir, programs.master);
      await master.waitFor("master ready");
      return master;
    },
    addWords: (site, host) =>
      svcWords(
        ...["cluster", "add-site", site, "--dir", dir, "--host", nameOf(host)],
        ...["--port", `${hosts.ports.bus}`, "--site-port", `${sitePort}`],
      ),
    startSite(site, host, server = natsServerDirectory()) {
      const own = siteDir(site);
      const config = join(own, "bus/nats-server.conf");
      const text = readFileSync(config, "utf8");
      writeFileSync(config, text.replace('listen: "0.0.0.0:', `listen: "127.0.0.${host + 1}:`));
      const health = ["--health-addr", `127.0.0.${host + 1}:0`];
      return hosts.start(host, [programs.master, "--config", join(own, "master.yaml"), ...health], {
        PATH: `${server}:${process.env.PATH}`,
        SVC_DATA_DIR: own,
      });
    },
    async startPeel(id, host, { site, flags = [], label = true } = {}) {
      const data = join(hosts.dir, `peel-${id}`);
      cpSync(join(dir, "peel"), data, { recursive: true });
      const peel = hosts.start(
        host,
        [
          ...[programs.peel, "--config", join(dir, "peel.yaml"), "--id", id],
          ...["--health-addr", `127.0.0.${host + 1}:0`, ...flags],
        ],
        { SVC_DATA_DIR: data },
      );
      await peel.waitFor("enrollment pending");
      const listed = JSON.parse(
        (await svc("enroll", "list", "--state", "pending", "--output", "json")).stdout,
      );
      const enrollment = listed.find((one: { peel_id: string }) => one.peel_id === id)?.id;
      if (site !== undefined && label) await svc("enroll", "label", enrollment, `site=${site}`);
      const approved = await svc("enroll", "approve", enrollment, "--yes");
      if (approved.code !== 0) throw new Error(approved.stderr);
      await peel.waitFor("peel connected");
      return peel;
    },
    busOf: (peel, host) => checkOf(peel, host, "bus"),
    async certificateOf(site, host) {
      await site.waitFor("health is served");
      return checkOf(site, host, "certificate");
    },
    async stateOf(site) {
      // It exits with 1 where something needs attention.
      const { stdout, stderr } = await svc("cluster", "status", "--output", "json");
      if (stdout === "") throw new Error(stderr);
      return JSON.parse(stdout).sites.find((one: { site: string }) => one.site === site);
    },
    [Symbol.asyncDispose]: () => hosts[Symbol.asyncDispose](),
  };
}

/** Hosts of a test ask from one address, which may otherwise not ask that often. Before the master starts. */
export function letEnroll({ dir, hosts }: SiteFleet): void {
  const path = join(dir, "master.yaml");
  const text = readFileSync(path, "utf8");
  const addr = /^ {2}addr: (.+)$/m.exec(text)?.[1] ?? `0.0.0.0:${hosts.ports.api}`;
  const networks = { tests: { cidr: ["127.0.0.0/8"], capacity: 1000, refill: "1s" } };
  writeFileSync(path, setYamlKeys(text, path, { enroll: { addr: addr.replaceAll('"', ""), networks } }));
}

async function checkOf(program: Program, host: number, name: string) {
  const port = /"health_port":(\d+)/.exec(program.output())?.[1];
  const answer = await fetch(`http://127.0.0.${host + 1}:${port}/readyz`);
  const { checks } = (await answer.json()) as {
    checks: Record<string, { status: string; message?: string }>;
  };
  return checks[name] ?? { status: "absent" };
}

/** Waits until a site is in a state. @param peels how many of its peels must live */
export const untilSite = (fleet: SiteFleet, site: string, state: string, peels = 0) =>
  until(
    () => fleet.stateOf(site),
    (found) => found?.state === state && found.peels >= peels,
  );
