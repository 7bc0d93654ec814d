import { expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setYamlKeys } from "../../internal/base/edit-yaml.ts";
import { natsServerDirectory } from "../harness/bus.ts";
import { freePorts } from "../harness/free-ports.ts";
import type { Program } from "../harness/process.ts";
import { letEnroll, startSiteFleet, untilSite } from "../harness/site-fleet.ts";
import { until } from "../harness/until.ts";
import { programs, type Version } from "./two-versions.ts";

// A fleet with a site, of a version in which a site could speak for every peel: docs/sites.md, "Security". Its two
// masters are upgraded one after the other, and its peels and its site are not.

test("a site of an earlier version works with masters of both versions, and speaks for its own peels in the end", async () => {
  await using fleet = await startSiteFleet(4, ["--site-port", "PORT"], programs.earlier);
  const { hosts, dir } = fleet;
  letEnroll(fleet);
  const [secondPort = 0] = await freePorts(1);
  const configs = ["master.yaml", "master-2.yaml"] as const;
  const at = (config: string) => join(dir, config);
  const first = readFileSync(at("master.yaml"), "utf8");
  writeFileSync(
    at("master-2.yaml"),
    first
      .replace(/^embedded_bus: true$/m, "embedded_bus: false")
      .replace(/^( {2}addr: .*:)\d+/m, `$1${secondPort}`)
      .replace(/^(decisions_log: .*)$/m, "$1.2"),
  );
  const masters: Program[] = [];
  const startMaster = async (number: 1 | 2, version: Version) => {
    masters[number]?.kill("SIGTERM");
    await masters[number]?.exited;
    const config = at(configs[number - 1] ?? "");
    const words = [programs[version].master, "--config", config, "--health-addr", "127.0.0.2:0"];
    const master = hosts.start(1, words, {
      PATH: `${natsServerDirectory()}:${process.env.PATH}`,
      SVC_DATA_DIR: number === 1 ? dir : join(hosts.dir, "second"),
    });
    masters[number] = master;
    await master.waitFor("master ready");
  };
  await startMaster(1, "earlier");
  await startMaster(2, "earlier");
  const adding = hosts.start(1, fleet.addWords("berlin", 2));
  await adding.waitFor("waiting for the server of berlin");
  fleet.startSite("berlin", 2);
  expect(await adding.exited).toBe(0);
  await fleet.startPeel("web-1", 2, { site: "berlin" });
  const url = `tls://${hosts.names[1]}:${hosts.ports.bus}`;
  const authority = ["--bus-ca", join(dir, "peel/auth/bus-ca.crt")];
  await fleet.startPeel("web-2", 3, { flags: ["--bus-url", url, ...authority] });
  await untilSite(fleet, "berlin", "up", 1);
  const ping = (target: string) =>
    until(
      () => fleet.svc("run", target, "test.ping", "--output", "json"),
      ({ code }) => code === 0,
    );
  await ping("web-*");

  /** What came over the link of the site since, under its name and as it is. */
  const came = { underItsName: 0, asItIs: 0 };
  const observe = async () => {
    const bus = await hosts.connect(1, dir);
    const count = (subject: string, way: keyof typeof came) =>
      bus.nats.subscribe(subject, { callback: () => void came[way]++ });
    count("svc.from.berlin.>", "underItsName");
    count("svc.relay.$KV.peel-heartbeat.*", "asItIs");
    return bus;
  };
  const untilMore = (way: keyof typeof came) => {
    const before = came[way];
    return until(
      () => came[way] > before,
      (isMore) => isMore,
      120_000,
    );
  };

  await startMaster(2, "current");
  let bus = await observe();
  await ping("web-*");
  await untilMore("asItIs");
  expect(came.underItsName).toBe(0);

  await bus.nats.close();
  await startMaster(1, "current");
  bus = await observe();
  await ping("web-*");
  await untilMore("underItsName");
  await ping("web-*");
  const problems = async () =>
    JSON.parse((await hosts.run(1, [...current(), "cluster", "status", "--output", "json"])).stdout)
      .problems as string[];
  const current = () => [programs.current.cli, "--config", join(dir, "svc.yaml")];
  await until(problems, (told) =>
    told.some((one) => /label: web-2: .* then set sites.require_label/.test(one)),
  );

  // Back to the earlier version, and forth again.
  await startMaster(2, "earlier");
  await untilMore("asItIs");
  await ping("web-*");
  for (const config of configs) {
    const text = readFileSync(at(config), "utf8");
    writeFileSync(at(config), setYamlKeys(text, config, { sites: { require_label: true } }));
  }
  await startMaster(2, "current");
  await bus.nats.close();
  await startMaster(1, "current");
  bus = await observe();
  await untilMore("underItsName");
  await ping("web-1");
  await until(problems, (told) => told.some((one) => /is refused: web-2: /.test(one)));
  const listed = JSON.parse((await fleet.svc("enroll", "list", "--state", "all", "--output", "json")).stdout);
  const { id } = listed.find((one: { peel_id: string }) => one.peel_id === "web-2");
  expect((await fleet.svc("enroll", "label", id, "site=berlin")).code).toBe(0);
  await ping("web-*");
  await bus.nats.close();
}, 600_000);
