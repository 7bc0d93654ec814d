import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { natsServerDirectory } from "../harness/bus.ts";
import { type ClusterHosts, startHosts } from "../harness/cluster-hosts.ts";
import { binaries } from "../harness/fleet.ts";
import { freePorts } from "../harness/free-ports.ts";
import type { Program } from "../harness/process.ts";
import { until } from "../harness/until.ts";
import { installBusRoot, programs, type Version } from "./two-versions.ts";

// A fleet that the earlier version made gets a site: docs/sites.md. Its master is upgraded before; its peel, with the
// credentials of the earlier version, continues at the bus of the masters, and moves to the site when it is upgraded.

test("a fleet of the earlier version gets a site, and its earlier peel works all the time", async () => {
  await using hosts: ClusterHosts = await startHosts(3);
  const [sitePort = 0] = await freePorts(1);
  const fleet = join(hosts.dir, "fleet");
  const nameOf = (host: number) => hosts.names[host - 1] ?? "";
  const svc = (version: Version, ...args: string[]) =>
    hosts.run(1, [programs[version].cli, "--config", join(fleet, "svc.yaml"), ...args]);
  const init = ["init", fleet, "--host", nameOf(1), ...hosts.flags];
  expect(await hosts.run(1, [programs.earlier.cli, ...init])).toMatchObject({ code: 0 });
  hosts.place(1, fleet);
  let master = hosts.startMaster(1, fleet, programs.earlier.master);
  await master.waitFor("master ready");
  const startPeel = (id: string, host: number, version: Version, ...flags: string[]) => {
    const data = join(hosts.dir, `peel-${id}`);
    installBusRoot(fleet, data);
    return hosts.start(
      host,
      [
        ...[programs[version].peel, "--config", join(fleet, "peel.yaml"), "--id", id],
        ...["--health-addr", `127.0.0.${host + 1}:0`, ...flags],
      ],
      { SVC_DATA_DIR: data },
    );
  };
  const admit = async (peel: Program, version: Version, site?: string) => {
    await peel.waitFor(/waiting for an operator's approval/);
    const listed = await svc(version, "enroll", "list", "--state", "pending", "--output", "json");
    const [{ id }] = JSON.parse(listed.stdout);
    if (site !== undefined) {
      expect(await svc(version, "enroll", "label", id, `site=${site}`)).toMatchObject({ code: 0 });
    }
    expect(await svc(version, "enroll", "approve", id)).toMatchObject({ code: 0 });
    await peel.waitFor("peel connected");
  };
  let peel = startPeel("web-1", 1, "earlier");
  await admit(peel, "earlier");

  // What svc cluster asks for: credentials and a master of this version.
  const created = join(fleet, "auth/new.creds");
  const make = ["nats-auth", "credentials", "--dir", join(fleet, "auth"), "--out", created];
  expect(await svc("current", ...make)).toMatchObject({ code: 0 });
  const config = join(fleet, "svc.yaml");
  writeFileSync(config, readFileSync(config, "utf8").replace(/creds_file: .*/, `creds_file: ${created}`));
  const words = [
    ...[programs.current.cli, "--config", config, "cluster", "add-site", "berlin", "--dir", fleet],
    ...["--host", nameOf(2), "--port", `${hosts.ports.bus}`, "--site-port", `${sitePort}`],
  ];
  const refused = await hosts.run(1, words);
  expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("upgrade")]);
  const restart = async () => {
    master.kill("SIGTERM");
    await master.exited;
    master = hosts.startMaster(1, fleet);
    await master.waitFor("master ready");
  };
  await restart();
  const adding = hosts.start(1, words);
  await adding.waitFor("systemctl restart svc-master");
  await restart();
  const dir = `${fleet}-site-berlin`;
  const bus = join(dir, "bus/nats-server.conf");
  writeFileSync(bus, readFileSync(bus, "utf8").replace('listen: "0.0.0.0:', 'listen: "127.0.0.3:'));
  const site = hosts.start(
    2,
    [binaries.master, "--config", join(dir, "master.yaml"), "--health-addr", "127.0.0.3:0"],
    { PATH: `${natsServerDirectory()}:${process.env.PATH}`, SVC_DATA_DIR: dir },
  );
  expect(await adding.exited).toBe(0);
  await site.waitFor("the certificate of the bus was renewed");

  const ping = (target: string) =>
    until(
      () => svc("current", "run", target, "test.ping", "--output", "json"),
      ({ code }) => code === 0,
    );
  await ping("web-1");
  const second = startPeel("web-2", 2, "current");
  await admit(second, "current", "berlin");
  const shown = async () =>
    JSON.parse((await svc("current", "cluster", "status", "--output", "json")).stdout).sites;
  await until(shown, ([one]) => one.peels === 1);
  await ping("*");

  peel.kill("SIGTERM");
  await peel.exited;
  peel = startPeel("web-1", 1, "current", "--site", "berlin");
  await peel.waitFor("peel connected");
  await ping("*");
  // It learns of the site after its first connection, and looks there after one to two minutes.
  await until(
    async () => {
      const port = /"health_port":(\d+)/.exec(peel.output())?.[1];
      const answer = await fetch(`http://127.0.0.2:${port}/readyz`);
      return (await answer.json()) as { checks: { bus: { message?: string } } };
    },
    ({ checks }) => checks.bus.message === "at the bus of site berlin",
    150_000,
  );
  await ping("*");
}, 240_000);
