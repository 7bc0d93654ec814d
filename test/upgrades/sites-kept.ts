import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { natsServerDirectory } from "../harness/bus.ts";
import { freePorts } from "../harness/free-ports.ts";
import type { Program } from "../harness/process.ts";
import { letEnroll, startSiteFleet, untilSite } from "../harness/site-fleet.ts";
import { until } from "../harness/until.ts";
import { programs, type Version } from "./two-versions.ts";

// A fleet with a site, made by the earlier version: docs/sites.md. Its two masters are upgraded one after the other, one
// of them goes back and comes again, and then the server of the site and its peel follow. Jobs run all the time.

test("a fleet with a site is upgraded in any order of its masters, before its site and its peel", async () => {
  await using fleet = await startSiteFleet(4, ["--site-port", "PORT"], programs.earlier);
  const { hosts, dir } = fleet;
  letEnroll(fleet);
  const [secondPort = 0] = await freePorts(1);
  const configs = ["master.yaml", "master-2.yaml"] as const;
  const at = (config: string) => join(dir, config);
  writeFileSync(
    at("master-2.yaml"),
    readFileSync(at("master.yaml"), "utf8")
      .replace(/^embedded_bus: true$/m, "embedded_bus: false")
      .replace(/^( {2}addr: .*:)\d+/m, `$1${secondPort}`)
      .replace(/^(decisions_log: .*)$/m, "$1.2"),
  );
  const path = { PATH: `${natsServerDirectory()}:${process.env.PATH}` };
  const end = async (program: Program | undefined) => {
    program?.kill("SIGTERM");
    await program?.exited;
  };
  const masters: Program[] = [];
  const startMaster = async (number: 1 | 2, version: Version) => {
    await end(masters[number]);
    const config = at(configs[number - 1] ?? "");
    const words = [programs[version].master, "--config", config, "--health-addr", "127.0.0.2:0"];
    const data = number === 1 ? dir : join(hosts.dir, "second");
    const master = hosts.start(1, words, { ...path, SVC_DATA_DIR: data });
    masters[number] = master;
    await master.waitFor("master ready");
  };
  const ping = () =>
    until(
      () => fleet.svc("run", "web-*", "test.ping", "--output", "json"),
      ({ code }) => code === 0,
    );

  await startMaster(1, "earlier");
  await startMaster(2, "earlier");
  const adding = hosts.start(1, fleet.addWords("berlin", 2));
  await adding.waitFor("waiting for the server of berlin");
  const site = fleet.startSite("berlin", 2);
  expect(await adding.exited).toBe(0);
  const peel = await fleet.startPeel("web-1", 2, { site: "berlin" });
  await untilSite(fleet, "berlin", "up", 1);
  await ping();

  for (const [number, version] of [
    [2, "current"],
    [1, "current"],
    [2, "earlier"],
    [2, "current"],
  ] as const) {
    await startMaster(number, version);
    await untilSite(fleet, "berlin", "up", 1);
    await ping();
  }

  const health = (host: number) => ["--health-addr", `127.0.0.${host + 1}:0`];
  await end(site);
  const own = fleet.siteDir("berlin");
  const words = [programs.current.master, "--config", join(own, "master.yaml"), ...health(2)];
  const upgraded = hosts.start(2, words, { ...path, SVC_DATA_DIR: own });
  await upgraded.waitFor("bus ready, without a master");
  await untilSite(fleet, "berlin", "up", 1);
  await ping();

  await end(peel);
  const peelWords = [programs.current.peel, "--config", at("peel.yaml"), "--id", "web-1", ...health(3)];
  const followed = hosts.start(2, peelWords, { SVC_DATA_DIR: join(hosts.dir, "peel-web-1") });
  await followed.waitFor("peel connected");
  await untilSite(fleet, "berlin", "up", 1);
  await ping();
}, 600_000);
