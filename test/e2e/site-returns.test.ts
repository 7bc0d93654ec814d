import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { binaries } from "../harness/fleet.ts";
import type { Program } from "../harness/process.ts";
import { type Relay, startRelay } from "../harness/relay.ts";
import { letEnroll, type SiteFleet, startSiteFleet, untilSite } from "../harness/site-fleet.ts";
import { until } from "../harness/until.ts";

// docs/sites.md, "Put peels at a site" and "When the link breaks": the link is cut while the masters run, and a peel
// that had to leave its site returns there.

let fleet: SiteFleet;
let relay: Relay;
let site: Program;
let peel: Program;
const hub = { host: "127.0.0.2", port: 0 };

beforeAll(async () => {
  fleet = await startSiteFleet(4, ["--site-port", "PORT"]);
  letEnroll(fleet);
  // Otherwise the server of the site learns the way past the relay.
  const own = join(fleet.dir, "bus/nats-server.conf");
  writeFileSync(own, readFileSync(own, "utf8").replace("leafnodes {", "leafnodes {\n  no_advertise: true"));
  await fleet.startMaster();
  const adding = fleet.hosts.start(1, fleet.addWords("berlin", 2));
  await adding.waitFor("waiting for the server of berlin");
  relay = await startRelay(fleet.sitePort, "127.0.0.3", hub);
  const config = join(fleet.siteDir("berlin"), "bus/nats-server.conf");
  writeFileSync(config, readFileSync(config, "utf8").replaceAll(`:${fleet.sitePort}"`, `:${relay.port}"`));
  site = fleet.startSite("berlin", 2);
  expect(await adding.exited).toBe(0);
  peel = await fleet.startPeel("web-1", 2, { site: "berlin" });
}, 120_000);
afterAll(async () => {
  await relay?.close();
  await fleet?.[Symbol.asyncDispose]();
}, 60_000);

const jobs = async () =>
  JSON.parse((await fleet.svc("job", "list", "--output", "json")).stdout) as { status: string }[];
const done = () => peel.output().match(/job done/g)?.length ?? 0;

test("while the link is cut, the masters say so, the peel stays at its site, and what it did arrives afterwards", async () => {
  const [started, gate] = [join(fleet.hosts.dir, "started"), join(fleet.hosts.dir, "gate")];
  const running = fleet.hosts.start(1, [
    ...[binaries.cli, "--config", join(fleet.dir, "svc.yaml"), "run", "web-1", "cmd.run"],
    ...[
      `touch ${started}; while [ ! -e ${gate} ]; do sleep 0.1; done; echo done`,
      "--timeout",
      "2m",
      "--output",
      "json",
    ],
  ]);
  await until(() => existsSync(started));
  relay.cut();
  writeFileSync(gate, "");
  await untilSite(fleet, "berlin", "cut off");
  await until(() => done() === 1);
  expect(await fleet.busOf(peel, 2)).toMatchObject({ status: "up", message: "at the bus of site berlin" });
  const status = await fleet.svc("cluster", "status");
  expect([status.code, status.stderr]).toEqual([1, expect.stringContaining("cut off: site berlin")]);
  expect((await jobs()).map((job) => job.status)).not.toContain("completed");
  relay.mend();
  await untilSite(fleet, "berlin", "up", 1);
  const listed = await until(jobs, (found) => found.every((job) => job.status === "completed"));
  expect(listed).toHaveLength(1);
  expect(await running.exited).toBe(0);
  expect([peel.output().match(/bus disconnected/g), done()]).toEqual([null, 1]);
}, 120_000);

test("a peel whose site is away works at the bus of the masters, and returns when its site is back", async () => {
  peel.kill("SIGTERM");
  await peel.exited;
  site.kill("SIGTERM");
  await site.exited;
  peel = fleet.hosts.start(
    2,
    [
      ...[binaries.peel, "--config", join(fleet.dir, "peel.yaml"), "--id", "web-1"],
      ...["--health-addr", "127.0.0.3:0"],
    ],
    { SVC_DATA_DIR: join(fleet.hosts.dir, "peel-web-1") },
  );
  await peel.waitFor("peel connected");
  expect(await fleet.busOf(peel, 2)).toMatchObject({
    status: "degraded",
    message: expect.stringContaining("the bus of site berlin did not answer"),
  });
  expect((await fleet.svc("run", "web-1", "test.ping")).code).toBe(0);
  site = fleet.startSite("berlin", 2);
  await untilSite(fleet, "berlin", "up");
  // It looks after one to two minutes.
  await peel.waitFor("back at the bus of the site", 150_000);
  expect(await fleet.busOf(peel, 2)).toMatchObject({ status: "up", message: "at the bus of site berlin" });
  const ran = await fleet.svc("run", "web-1", "cmd.run", "echo it", "--output", "json");
  expect([ran.code, ran.stdout]).toEqual([0, expect.stringContaining("it")]);
}, 240_000);
