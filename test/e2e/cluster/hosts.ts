import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { setReplicas } from "../../../internal/bus/assets/change-replicas.ts";
import type { ServerVersion } from "../../harness/bus.ts";
import { type ClusterHosts, startHosts } from "../../harness/cluster-hosts.ts";
import { binaries } from "../../harness/fleet.ts";
import type { Program } from "../../harness/process.ts";
import { until } from "../../harness/until.ts";

// docs/clusters.md, "A new fleet" and "Removing a host": a fleet of three hosts as svc init writes it, with the
// compiled programs.

interface Status {
  clustered: boolean;
  leader: string;
  members: { server: string; state: string; leads: number; stores: number }[];
  streams: { stream: string; leader: string; replicas: number; servers: string[]; behind: unknown[] }[];
  problems: string[];
}

/** A new fleet of three hosts. @param server its nats-server */
export function hostsCases({ path, version }: ServerVersion): void {
  describe(`with nats-server ${version}`, () => {
    let hosts: ClusterHosts;
    let fleet: string;
    const masters: Program[] = [];

    beforeAll(async () => {
      hosts = await startHosts(3, path);
      fleet = join(hosts.dir, "fleet");
    });
    afterAll(async () => {
      await hosts?.[Symbol.asyncDispose]();
    }, 60_000);

    const svc = (...args: string[]) =>
      hosts.run(1, [binaries.cli, "--config", join(fleet, "svc.yaml"), ...args]);
    const nameOf = (host: number) => hosts.names[host - 1] ?? "";
    const readStatus = async (): Promise<Status> => {
      const { stdout, stderr } = await svc("cluster", "status", "--output", "json");
      return stdout === ""
        ? { clustered: false, leader: "", members: [], streams: [], problems: [stderr] }
        : JSON.parse(stdout);
    };
    const stop = async (host: number) => {
      masters[host - 1]?.kill("SIGTERM");
      await masters[host - 1]?.exited;
    };

    test("three hosts start with what svc init wrote for each, all at the same moment", async () => {
      const made = await hosts.run(1, [
        ...[binaries.cli, "init", fleet, "--hosts", hosts.names.join(","), ...hosts.flags],
        ...["--route-port", `${hosts.ports.route}`, "--output", "json"],
      ]);
      expect([made.code, JSON.parse(made.stdout).hosts]).toEqual([
        0,
        hosts.names.map((host) => ({ host, dir: join(fleet, host) })),
      ]);
      for (const host of [1, 2, 3]) {
        hosts.place(host, join(fleet, nameOf(host)));
        masters.push(hosts.startMaster(host, join(fleet, nameOf(host))));
      }
      for (const master of masters) await master.waitFor("master ready");
      const status = await until(readStatus, ({ problems }) => problems.length === 0);
      expect(
        status.members.map(({ server, state, stores }) => [server, state, stores === status.streams.length]),
      ).toEqual(hosts.names.map((name) => [name, "up", true]));
      expect(new Set(status.streams.map(({ replicas }) => replicas))).toEqual(new Set([3]));
    }, 120_000);

    test("the replicas are compared when someone asks", async () => {
      const checked = await svc("cluster", "check", "--output", "json");
      expect([checked.code, checked.stderr]).toEqual([0, ""]);
      const { streams, sampled, differences } = JSON.parse(checked.stdout);
      expect([streams > 20, sampled, differences]).toEqual([true, streams, []]);
    }, 60_000);

    test("a host that runs is not removed, and an unknown one has left", async () => {
      const running = await svc("cluster", "remove", nameOf(3));
      expect([running.code, running.stderr]).toEqual([
        1,
        expect.stringContaining(`${nameOf(3)} still runs: stop svc-master there`),
      ]);
      const unknown = await svc("cluster", "remove", "n9.fleet.test");
      expect([unknown.code, unknown.stdout]).toEqual([0, "n9.fleet.test does not belong to the cluster\n"]);
      const wrong = await svc("cluster", "remove", "not a name");
      expect([wrong.code, wrong.stderr]).toEqual([
        1,
        expect.stringContaining("host must be the name or address of a host"),
      ]);
    }, 60_000);

    test("a host that alone stores a stream is not removed until others store it too", async () => {
      const connect = () => hosts.connect(1, join(fleet, nameOf(1)));
      const before = await connect();
      const { streams } = await before.nats.jetstreamManager();
      const { cluster } = await streams.add({ name: "stray", subjects: ["stray.*"] });
      await before.nats.close();
      const alone = cluster?.leader ?? "";
      const host = hosts.names.indexOf(alone) + 1;
      await stop(host);
      const refused = await until(
        () => svc("cluster", "remove", alone),
        ({ stderr }) => stderr.includes("stored on no server that runs"),
      );
      expect([refused.code, refused.stdout]).toEqual([1, ""]);
      expect(refused.stderr).toContain(`stray: stored on no server that runs: start svc-master on ${alone}`);
      masters[host - 1] = hosts.startMaster(host, join(fleet, alone));
      await until(readStatus, ({ problems }) =>
        problems.every((problem) => problem.includes("fewer than 3")),
      );
      const after = await connect();
      await until(
        () => setReplicas(after, "stray", 3, 5_000),
        (isSet) => isSet,
      );
      await after.nats.close();
      await until(readStatus, ({ problems }) => problems.length === 0);
    }, 120_000);

    test("the leader is removed, after its host was stopped; it is done once", async () => {
      const { leader } = await readStatus();
      const host = hosts.names.indexOf(leader) + 1;
      // The operator asks through the servers that remain.
      await stop(host);
      const missing = await until(readStatus, ({ members }) =>
        members.some(({ server, state }) => server === leader && state === "missing"),
      );
      expect(missing.problems[0]).toContain(
        `${leader} does not answer: start svc-master there, or remove it`,
      );
      const dry = await until(
        () => svc("cluster", "remove", leader, "--dry-run"),
        ({ code }) => code === 0,
      );
      expect(dry.stdout).toEndWith(`${leader}: left the JetStream group\n`);
      const removed = await svc("cluster", "remove", leader);
      expect([removed.code, removed.stdout]).toEqual([
        0,
        `${leader} left the cluster: destroy its directory, which has keys\n`,
      ]);
      const after = await until(readStatus, ({ problems }) => problems.length === 0);
      expect(after.members.map(({ server }) => server)).toEqual(
        hosts.names.filter((name) => name !== leader),
      );
      expect(new Set(after.streams.map(({ replicas, servers }) => `${replicas} ${servers.length}`))).toEqual(
        new Set(["2 2"]),
      );
      expect(after.streams.every(({ servers }) => !servers.includes(leader))).toBe(true);
      expect((await svc("cluster", "remove", leader)).stdout).toBe(
        `${leader} does not belong to the cluster\n`,
      );
      const [last = ""] = after.members.map(({ server }) => server);
      const refused = await svc("cluster", "remove", last);
      expect([refused.code, refused.stderr]).toEqual([
        1,
        expect.stringContaining(`${last} is the last but one`),
      ]);
    }, 120_000);
  });
}
