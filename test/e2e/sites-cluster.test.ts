import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { natsServerDirectory } from "../harness/bus.ts";
import { type ClusterHosts, startHosts } from "../harness/cluster-hosts.ts";
import { binaries } from "../harness/fleet.ts";
import { freePorts } from "../harness/free-ports.ts";
import type { Program } from "../harness/process.ts";
import { until } from "../harness/until.ts";

// docs/sites.md on a cluster: the site is linked to one of three hosts, and to another one when that fails. Its peel
// does not notice. A peel of an earlier version works there too, with commands of its own.

let hosts: ClusterHosts;
let fleet: string;
let sitePort = 0;
let masters: Program[] = [];

const nameOf = (host: number) => hosts.names[host - 1] ?? "";
const svc = (...args: string[]) => hosts.run(4, [binaries.cli, "--config", join(fleet, "svc.yaml"), ...args]);
const problems = async () =>
  (JSON.parse((await svc("cluster", "status", "--output", "json")).stdout || "{}").problems ??
    []) as string[];
const sites = async () =>
  (JSON.parse((await svc("cluster", "status", "--output", "json")).stdout || "{}").sites ?? []) as {
    state: string;
    server?: string;
    peels: number;
  }[];

beforeAll(async () => {
  hosts = await startHosts(4);
  fleet = join(hosts.dir, "fleet");
  [sitePort = 0] = await freePorts(1);
  const names = [1, 2, 3].map(nameOf).join(",");
  const flags = ["--hosts", names, "--route-port", `${hosts.ports.route}`, "--site-port", `${sitePort}`];
  const made = await hosts.run(1, [binaries.cli, "init", fleet, ...flags, ...hosts.flags]);
  expect(made.code).toBe(0);
  masters = [1, 2, 3].map((host) => {
    hosts.place(host, join(fleet, nameOf(host)));
    return hosts.startMaster(host, join(fleet, nameOf(host)));
  });
  for (const master of masters) await master.waitFor("master ready");
}, 120_000);
afterAll(() => hosts?.[Symbol.asyncDispose](), 60_000);

test("a site is linked to the next host when one fails, and its peel stays connected", async () => {
  const add = [
    ...[binaries.cli, "--config", join(fleet, "svc.yaml"), "cluster", "add-site", "berlin"],
    ...["--dir", join(fleet, nameOf(1)), "--host", nameOf(4), "--port", `${hosts.ports.bus}`],
    ...["--site-port", `${sitePort}`],
  ];
  const adding = hosts.start(1, add);
  await adding.waitFor("waiting for the server of berlin");
  const dir = join(fleet, "site-berlin");
  const config = join(dir, "bus/nats-server.conf");
  writeFileSync(config, readFileSync(config, "utf8").replace('listen: "0.0.0.0:', 'listen: "127.0.0.5:'));
  hosts.start(4, [binaries.master, "--config", join(dir, "master.yaml")], {
    PATH: `${natsServerDirectory()}:${process.env.PATH}`,
    SVC_DATA_DIR: dir,
  });
  expect(await adding.exited).toBe(0);
  // It has no site: the URL of its bus alone, as a peel of an earlier version.
  const peel = hosts.start(
    4,
    [
      ...[
        binaries.peel,
        "--config",
        join(fleet, "peel.yaml"),
        "--id",
        "web-1",
        "--health-addr",
        "127.0.0.5:0",
      ],
      ...["--bus-url", `tls://${nameOf(4)}:${hosts.ports.bus}`],
      ...["--bus-ca", join(fleet, "peel/auth/bus-ca.crt")],
    ],
    { SVC_DATA_DIR: join(hosts.dir, "peel-web-1") },
  );
  await peel.waitFor("enrollment pending");
  expect((await svc("enroll", "approve", "--all", "--yes")).code).toBe(0);
  await peel.waitFor("peel connected");
  // What it sends counts when it has the label.
  await until(problems, (reported) => reported.some((one) => /do not have its label.* web-1: /.test(one)));
  const listed = JSON.parse((await svc("enroll", "list", "--state", "all", "--output", "json")).stdout) as {
    id: string;
  }[];
  expect((await svc("enroll", "label", listed[0]?.id ?? "", "site=berlin")).code).toBe(0);
  await until(
    () => svc("run", "web-1", "test.ping"),
    ({ code }) => code === 0,
  );
  const [before] = await sites();
  expect([before?.state, before?.peels]).toEqual(["up", 0]);
  const linked = hosts.names.indexOf(before?.server ?? "");
  masters[linked]?.kill("SIGKILL");
  await masters[linked]?.exited;
  const [after] = await until(sites, ([one]) => one?.state === "up" && one.server !== before?.server);
  expect(hosts.names).toContain(after?.server ?? "");
  await until(
    () => svc("run", "web-1", "cmd.run", "echo it"),
    ({ code }) => code === 0,
  );
  expect(peel.output()).not.toContain("bus disconnected");
}, 240_000);
