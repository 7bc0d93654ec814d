import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { type ClusterHosts, startHosts } from "../harness/cluster-hosts.ts";
import { binaries } from "../harness/fleet.ts";
import type { Program } from "../harness/process.ts";
import { until } from "../harness/until.ts";

// docs/clusters.md, "More hosts" and "Removing a host": three hosts become five, and three others of them stay. Streams
// have three replicas all the time, and move. What the configuration of each host says follows.

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

test("the fourth and the fifth join, added from two hosts at once; a third one waits", async () => {
  const adding = [
    { host: 4, from: 1 },
    { host: 5, from: 2 },
  ].map(({ host, from }) => ({ host, program: hosts.start(1, add([host], from)) }));
  for (const { host, program } of adding) await program.waitFor(`${dirOf(host)}: written`);
  for (const flags of [[], ["--dry-run"]]) {
    const other = await hosts.run(1, words("cluster", "add", "n6.fleet.test", "--dir", dirOf(1), ...flags));
    expect([other.code, other.stdout, other.stderr]).toEqual([
      1,
      "",
      expect.stringContaining(`svc cluster add ${nameOf(4)} has begun in ${dirOf(1)} and is not done`),
    ]);
  }
  expect(existsSync(join(fleet, "n6.fleet.test"))).toBe(false);
  for (const host of [4, 5]) {
    hosts.place(host, dirOf(host));
    start(host);
  }
  for (const { program } of adding) {
    await program.waitFor("has the new hosts");
    expect(await program.exited).toBe(0);
  }
  // Whichever ends last knows of both.
  expect(adding.map(({ program }) => program.output()).join("")).toMatch(
    /n[45]\.fleet\.test joined meanwhile, .* run svc cluster add n4\.fleet\.test,n5|n5\.fleet\.test,n4\.fleet\.test --dir DIRECTORY/,
  );
  for (const host of [1, 2, 3, 4, 5]) {
    expect(await hosts.run(1, add([4, 5], host))).toMatchObject({ code: 0 });
    expect(knownTo(host)).toMatchObject({ bus: [1, 2, 3, 4, 5], masters: [1, 2, 3, 4, 5] });
  }
  for (const host of [2, 3, 4, 5, 1]) {
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

/**
 * Begins to remove a host that has stopped. When the third stream leaves it, the command and all other hosts are
 * killed, and these start again.
 *
 * @returns the streams that left it before
 */
async function removeAndKill(host: number, others: readonly number[]): Promise<string[]> {
  const leaving = new Set<string>();
  const isHalfWay = Promise.withResolvers<void>();
  const witness = await hosts.connect(1, dirOf(1));
  witness.nats.subscribe("$JS.API.STREAM.PEER.REMOVE.*", {
    callback(_, { subject }) {
      leaving.add(subject.split(".").at(-1) ?? "");
      if (leaving.size === 3) isHalfWay.resolve();
    },
  });
  await witness.nats.flush();
  const removing = hosts.start(1, words("cluster", "remove", nameOf(host), "--dir", dirOf(1)));
  const where = await Promise.race([
    isHalfWay.promise.then(() => "half-way"),
    removing.exited.then(() => removing.output()),
  ]);
  expect(where).toBe("half-way");
  const killed = [removing, ...others.flatMap((other) => masters.get(other) ?? [])];
  for (const program of killed) program.kill("SIGKILL");
  for (const program of killed) await program.exited;
  await witness.nats.close();
  for (const again of others.map(start)) await again.waitFor("master ready");
  expect(knownTo(1)).toEqual(all([1, 2, 3, 4, 5]));
  return [...leaving].slice(0, -1);
}

test("two leave, the first one also after all was killed on the way, and those that stay forget them", async () => {
  const stay = [1, 2, 3, 4, 5];
  for (const host of [3, 4]) {
    const own = await remove(host, "--dir", dirOf(host));
    expect([own.code, own.stderr]).toEqual([2, expect.stringContaining("name that of a host that stays")]);
    await stop(host);
    await until(
      () => remove(host, "--dir", dirOf(1), "--dry-run"),
      ({ code, stdout }) => code === 0 && stdout.endsWith(`${dirOf(1)}: forget ${nameOf(host)}\n`),
    );
    stay.splice(stay.indexOf(host), 1);
    const left = host === 3 ? await removeAndKill(host, stay) : [];
    const removed = await remove(host, "--dir", dirOf(1), "--output", "json");
    expect(removed).toMatchObject({ code: 0 });
    const { done, steps } = JSON.parse(removed.stdout);
    expect([done, steps.length > 2, steps.slice(-2)]).toEqual([
      ...[true, true],
      [`${nameOf(host)}: left the JetStream group`, `${dirOf(1)}: forget ${nameOf(host)}`],
    ]);
    for (const stream of left) expect(steps).not.toContain(`${stream}: left ${nameOf(host)}`);
    expect(removed.stderr).toContain(`svc cluster remove ${nameOf(host)} --dir DIRECTORY of the fleet there`);
    for (const other of stay.slice(1)) {
      expect(await remove(host, "--dir", dirOf(other))).toMatchObject({
        code: 0,
        stdout: `${nameOf(host)} does not belong to the cluster\n`,
        stderr: expect.stringContaining(`${dirOf(other)}: has forgotten ${nameOf(host)}`),
      });
    }
  }
  for (const host of stay) expect(knownTo(host)).toEqual(all(stay));
  const again = await remove(4, "--dir", dirOf(1));
  expect([again.code, again.stderr]).toEqual([0, ""]);
}, 240_000);

test("with that configuration, three hosts work, and no server looks for those that left", async () => {
  const stay = [1, 2, 5];
  for (const host of stay) {
    await stop(host);
    await start(host).waitFor("master ready");
  }
  const status = await until(readStatus, ({ problems }) => problems.length === 0);
  expect(status.members.map(({ server, state }) => [server, state])).toEqual(
    stay.map((host) => [nameOf(host), "up"]),
  );
  expect(new Set(status.streams.map(({ replicas, servers }) => `${replicas} ${servers.length}`))).toEqual(
    new Set(["3 3"]),
  );
  const checked = await svc("cluster", "check", "--output", "json");
  expect([checked.code, JSON.parse(checked.stdout).differences]).toEqual([0, []]);
  for (const host of stay) expect(masters.get(host)?.output()).not.toMatch(/n[34]\.fleet\.test/);
}, 240_000);
