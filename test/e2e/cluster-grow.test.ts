import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type ClusterHosts, startHosts } from "../harness/cluster-hosts.ts";
import { binaries } from "../harness/fleet.ts";
import type { Program } from "../harness/process.ts";
import { until } from "../harness/until.ts";

// docs/clusters.md, "More hosts" and "Removing a host": three hosts become five, and three again. Streams have three
// replicas all the time. What the configuration of each host says follows.

interface Status {
  members: { server: string; state: string; stores: number }[];
  streams: { replicas: number; servers: string[]; behind: unknown[] }[];
  problems: string[];
}

let hosts: ClusterHosts;
let fleet: string;
const masters = new Map<number, Program>();

beforeAll(async () => {
  hosts = await startHosts(5);
  fleet = join(hosts.dir, "fleet");
});
afterAll(async () => {
  await hosts?.[Symbol.asyncDispose]();
}, 60_000);

const nameOf = (host: number) => hosts.names[host - 1] ?? "";
const dirOf = (host: number) => join(fleet, nameOf(host));
const words = (...args: string[]) => [binaries.cli, "--config", join(fleet, "svc.yaml"), ...args];
const svc = (...args: string[]) => hosts.run(1, words(...args));
const add = (added: readonly number[], host: number, ...flags: string[]) =>
  words("cluster", "add", added.map(nameOf).join(","), "--dir", dirOf(host), ...flags);
const remove = (host: number, ...flags: string[]) => svc("cluster", "remove", nameOf(host), ...flags);
const readStatus = async (): Promise<Status> => {
  const { stdout, stderr } = await svc("cluster", "status", "--output", "json");
  return stdout === "" ? { members: [], streams: [], problems: [stderr] } : JSON.parse(stdout);
};
const start = (host: number) => {
  const master = hosts.startMaster(host, dirOf(host));
  masters.set(host, master);
  return master;
};
const stop = async (host: number) => {
  masters.get(host)?.kill("SIGTERM");
  await masters.get(host)?.exited;
};
/** The hosts that the files of one of them know. */
const knownTo = (host: number) => {
  const [bus, master] = ["bus/nats-server.conf", "master.yaml"].map((name) =>
    readFileSync(join(dirOf(host), name), "utf8"),
  );
  const numbers = (text: string | undefined, pattern: RegExp) =>
    [...(text ?? "").matchAll(pattern)].map(([, number]) => Number(number)).sort();
  return {
    routes: numbers(bus, /nats-route:\/\/n(\d)\./g),
    bus: numbers(master, /tls:\/\/n(\d)\./g),
    masters: numbers(master, /https:\/\/n(\d)\./g),
  };
};
const all = (numbers: number[]) => ({ routes: numbers, bus: numbers, masters: numbers });

test("a fleet of three hosts runs", async () => {
  const three = hosts.names.slice(0, 3).join(",");
  const flags = ["--hosts", three, ...hosts.flags, "--route-port", `${hosts.ports.route}`];
  expect(await hosts.run(1, [binaries.cli, "init", fleet, ...flags])).toMatchObject({ code: 0 });
  for (const host of [1, 2, 3]) {
    hosts.place(host, dirOf(host));
    start(host);
  }
  await until(readStatus, ({ problems }) => problems.length === 0);
}, 120_000);

test("the fourth and the fifth join; others that are added at the same time wait", async () => {
  const adding = hosts.start(1, add([4, 5], 1));
  await adding.waitFor(`${dirOf(5)}: written`);
  for (const flags of [[], ["--dry-run"]]) {
    const other = await hosts.run(1, words("cluster", "add", "n6.fleet.test", "--dir", dirOf(1), ...flags));
    expect([other.code, other.stdout, other.stderr]).toEqual([
      1,
      "",
      expect.stringContaining(
        `svc cluster add ${nameOf(4)},${nameOf(5)} has begun in ${dirOf(1)} and is not done`,
      ),
    ]);
  }
  expect(existsSync(join(fleet, "n6.fleet.test"))).toBe(false);
  for (const host of [4, 5]) {
    hosts.place(host, dirOf(host));
    start(host);
  }
  await adding.waitFor("has the new hosts");
  expect(await adding.exited).toBe(0);
  for (const host of [2, 3]) {
    const { code, stderr } = await hosts.run(1, add([4, 5], host));
    expect([code, stderr]).toEqual([0, expect.stringContaining(`${dirOf(host)}: has the new hosts`)]);
  }
  for (const host of [1, 2, 3, 4, 5]) {
    expect(knownTo(host)).toMatchObject({ bus: [1, 2, 3, 4, 5], masters: [1, 2, 3, 4, 5] });
  }
  for (const host of [2, 3, 1]) {
    await stop(host);
    await start(host).waitFor("master ready");
  }
  const status = await until(readStatus, ({ problems }) => problems.length === 0);
  expect(status.members.map(({ server, state }) => [server, state])).toEqual(
    hosts.names.map((name) => [name, "up"]),
  );
  expect(new Set(status.streams.map(({ replicas, servers }) => `${replicas} ${servers.length}`))).toEqual(
    new Set(["3 3"]),
  );
}, 240_000);

test("both leave again, and the configuration of those that stay forgets them", async () => {
  for (const host of [5, 4]) {
    const own = await remove(host, "--dir", dirOf(host));
    expect([own.code, own.stderr]).toEqual([2, expect.stringContaining("name that of a host that stays")]);
    await stop(host);
    await until(
      () => remove(host, "--dir", dirOf(1), "--dry-run"),
      ({ code, stdout }) => code === 0 && stdout.endsWith(`${dirOf(1)}: forget ${nameOf(host)}\n`),
    );
    const removed = await remove(host, "--dir", dirOf(1), "--output", "json");
    expect([removed.code, JSON.parse(removed.stdout)]).toMatchObject([0, { host: nameOf(host), done: true }]);
    expect(removed.stderr).toContain(`svc cluster remove ${nameOf(host)} --dir DIRECTORY of the fleet there`);
    for (const other of [2, 3]) {
      expect(await remove(host, "--dir", dirOf(other))).toMatchObject({
        code: 0,
        stdout: `${nameOf(host)} does not belong to the cluster\n`,
        stderr: expect.stringContaining(`${dirOf(other)}: has forgotten ${nameOf(host)}`),
      });
    }
  }
  for (const host of [1, 2, 3]) expect(knownTo(host)).toEqual(all([1, 2, 3]));
  const again = await remove(4, "--dir", dirOf(1));
  expect([again.code, again.stderr]).toEqual([0, ""]);
}, 240_000);

test("with that configuration, three hosts work, and no server looks for those that left", async () => {
  for (const host of [1, 2, 3]) {
    await stop(host);
    await start(host).waitFor("master ready");
  }
  const status = await until(readStatus, ({ problems }) => problems.length === 0);
  expect(status.members.map(({ server, state }) => [server, state])).toEqual(
    hosts.names.slice(0, 3).map((name) => [name, "up"]),
  );
  expect(new Set(status.streams.map(({ replicas, servers }) => `${replicas} ${servers.length}`))).toEqual(
    new Set(["3 3"]),
  );
  const checked = await svc("cluster", "check", "--output", "json");
  expect([checked.code, JSON.parse(checked.stdout).differences]).toEqual([0, []]);
  for (const host of [1, 2, 3]) expect(masters.get(host)?.output()).not.toMatch(/n[45]\.fleet\.test/);
}, 240_000);
