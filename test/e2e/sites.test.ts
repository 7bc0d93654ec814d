import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { binaries } from "../harness/fleet.ts";
import type { Program } from "../harness/process.ts";
import { type SiteFleet, startSiteFleet, untilSite } from "../harness/site-fleet.ts";
import { until } from "../harness/until.ts";

// docs/sites.md: a fleet of one host gets a site, and peels connect there.

let fleet: SiteFleet;
let master: Program;
let site: Program;
let adding: Program;

beforeAll(async () => {
  fleet = await startSiteFleet();
});
afterAll(() => fleet?.[Symbol.asyncDispose](), 60_000);

const kill = async (program: Program) => {
  program.kill("SIGKILL");
  await program.exited;
};

test("a plan changes nothing, and a site needs a name and a host that others reach", async () => {
  master = await fleet.startMaster();
  const words = fleet.addWords("berlin", 2);
  const planned = await fleet.hosts.run(1, [...words, "--dry-run"]);
  expect([planned.code, planned.stdout]).toEqual([
    0,
    expect.stringContaining(`write ${fleet.siteDir("berlin")}`),
  ]);
  expect(existsSync(fleet.siteDir("berlin"))).toBe(false);
  expect(readFileSync(join(fleet.dir, "bus/nats-server.conf"), "utf8")).not.toContain("leafnodes");
  const named = await fleet.hosts.run(1, words.with(words.indexOf("berlin"), "Berlin!"));
  expect([named.code, named.stderr]).toEqual([2, expect.stringContaining("cannot name a site")]);
  const local = await fleet.hosts.run(1, words.with(words.indexOf("--host") + 1, "localhost"));
  expect([local.code, local.stderr]).toEqual([2, expect.stringContaining("loopback")]);
}, 60_000);

test("it is added once, however often the command is killed, and its directory signs nothing", async () => {
  const first = fleet.hosts.start(1, fleet.addWords("berlin", 2));
  await first.waitFor("systemctl restart svc-master");
  await kill(first);
  const before = readFileSync(join(fleet.siteDir("berlin"), "bus/link.creds"), "utf8");
  adding = fleet.hosts.start(1, fleet.addWords("berlin", 2));
  await adding.waitFor("waiting for the server of berlin");
  expect(readFileSync(join(fleet.siteDir("berlin"), "bus/link.creds"), "utf8")).toBe(before);
  const files = readdirSync(fleet.siteDir("berlin"), { recursive: true }).map(String).sort();
  expect(files.filter((name) => /seed$/.test(name))).toEqual([]);
  expect(readdirSync(fleet.dir).filter((name) => name.startsWith(".site"))).toEqual([]);
}, 60_000);

test("after one restart of the master, its server is linked", async () => {
  master.kill("SIGTERM");
  await master.exited;
  site = fleet.startSite("berlin", 2);
  master = await fleet.startMaster();
  expect(await adding.exited).toBe(0);
  const found = await untilSite(fleet, "berlin", "up");
  expect(found?.round_trip_ms).toBeGreaterThan(0);
  // Its second link, over which it asks for newer accounts, is up a moment later.
  const { code, stdout } = await until(
    () => fleet.svc("cluster", "status", "--output", "json"),
    ({ stdout }) => JSON.parse(stdout).problems.length === 0,
  );
  expect([code, JSON.parse(stdout).members.length]).toEqual([0, 1]);
}, 60_000);

let peel: Program;

test("a peel with the label of the site connects there, and runs jobs", async () => {
  peel = await fleet.startPeel("web-1", 2, { site: "berlin" });
  expect(await fleet.busOf(peel, 2)).toMatchObject({ status: "up", message: "at the bus of site berlin" });
  const ran = await fleet.svc("run", "web-1", "test.ping", "--output", "json");
  expect(ran.code).toBe(0);
  await until(
    () => fleet.stateOf("berlin"),
    (found) => found?.peels === 1,
  );
  const changed = await fleet.svc("run", "web-1", "cmd.run", "echo it", "--output", "json");
  expect([changed.code, changed.stdout]).toEqual([0, expect.stringContaining("it")]);
}, 60_000);

test("a peel of a site runs its schedule and its jobs while the site is cut off, and tells them when it is back", async () => {
  const [began, gate] = [join(fleet.dir, "began"), join(fleet.dir, "gate")];
  const slow = fleet.hosts.start(1, [
    ...[binaries.cli, "--config", join(fleet.dir, "svc.yaml"), "run", "web-1", "cmd.run"],
    ...[
      `touch ${began}; while [ ! -e ${gate} ]; do sleep 0.1; done; echo done`,
      "--timeout",
      "2m",
      "--output",
      "json",
    ],
  ]);
  // It begins when the bus has stored that the peel took it.
  await until(() => existsSync(began));
  master.kill("SIGTERM");
  await master.exited;
  writeFileSync(gate, "");
  await until(() => peel.output().match(/job done/g)?.length === 3);
  expect(peel.output()).not.toContain("bus disconnected");
  expect((await fleet.busOf(peel, 2)).status).toBe("up");
  await kill(slow);
  master = await fleet.startMaster();
  await untilSite(fleet, "berlin", "up");
  const jobs = await until(
    async () => {
      const { code, stdout, stderr } = await fleet.svc("job", "list", "--output", "json");
      if (code !== 0) throw new Error(stderr);
      return JSON.parse(stdout) as { status: string }[];
    },
    (listed) => listed.every(({ status }) => status === "completed"),
  );
  expect(jobs.length).toBe(3);
  expect(peel.output()).not.toContain("bus disconnected");
}, 120_000);

test("a revocation ends the connection at the site at once", async () => {
  const second = await fleet.startPeel("web-2", 2, { site: "berlin" });
  const revoked = await fleet.svc("enroll", "revoke", "--peel", "web-2");
  expect([revoked.code, revoked.stderr]).toEqual([0, expect.anything()]);
  await second.waitFor("bus disconnected");
  await second.waitFor("bus error");
  await kill(second);
}, 60_000);

test("a revocation of the time when a site was cut off counts when it is back", async () => {
  const third = await fleet.startPeel("web-3", 2, { site: "berlin" });
  site.kill("SIGKILL");
  await site.exited;
  await untilSite(fleet, "berlin", "cut off");
  const status = await fleet.svc("cluster", "status");
  expect([status.code, status.stderr]).toEqual([1, expect.stringContaining("cut off: site berlin")]);
  expect((await fleet.svc("enroll", "revoke", "--peel", "web-3")).code).toBe(0);
  site = fleet.startSite("berlin", 2);
  await third.waitFor(/bus error.*(?:Authorization|revoked)/i);
  await untilSite(fleet, "berlin", "up");
  await until(
    () => fleet.stateOf("berlin"),
    (found) => found?.peels === 1,
  );
  await kill(third);
}, 120_000);

test("a site that is removed is cut off at once and for good, and its peels leave it", async () => {
  const removed = await fleet.svc("cluster", "remove-site", "berlin", "--output", "json");
  expect([removed.code, JSON.parse(removed.stdout)]).toEqual([0, { site: "berlin", removed: true }]);
  await site.waitFor(/Authorization Violation|Authentication Revoked|authentication revoked/i);
  expect(await fleet.stateOf("berlin")).toBeUndefined();
  await kill(site);
  const again = await fleet.svc("cluster", "remove-site", "berlin", "--output", "json");
  expect(JSON.parse(again.stdout)).toEqual({ site: "berlin", removed: false });
  const none = await fleet.svc("cluster", "remove-site", "munich");
  expect([none.code, none.stderr]).toEqual([1, expect.stringContaining("the site munich does not exist")]);
}, 60_000);
