import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { replicatingServers } from "../harness/bus.ts";
import { type ClusterHosts, startHosts } from "../harness/cluster-hosts.ts";
import type { Program } from "../harness/process.ts";
import { until } from "../harness/until.ts";
import { installBusRoot, programs, type Version } from "./two-versions.ts";

// A fleet of one host that the earlier version made moves to three hosts: docs/clusters.md, "From one host to three".
// Its master is upgraded before, and nothing else: the peel and its credentials, the operator and the configuration
// are those of the earlier version all the time.

setDefaultTimeout(240_000);

describe.each(replicatingServers())("with nats-server $version", ({ path }) => {
  let hosts: ClusterHosts;
  let fleet: string;
  let master: Program;
  let peel: Program;
  let peelData: string;
  /** Jobs whose end was shown, by the version of svc that ran them. */
  const ended: Record<Version, string[]> = { earlier: [], current: [] };
  let load: Promise<void> | undefined;
  let loading = true;

  beforeAll(async () => {
    hosts = await startHosts(3, path);
    fleet = join(hosts.dir, "fleet");
    peelData = join(hosts.dir, "peel");
  });
  afterAll(async () => {
    loading = false;
    await load;
    await hosts?.[Symbol.asyncDispose]();
  });

  const svc = (version: Version, ...args: string[]) =>
    hosts.run(1, [programs[version].cli, "--config", join(fleet, "svc.yaml"), ...args]);
  const nameOf = (host: number) => hosts.names[host - 1] ?? "";
  const dirOf = (host: number) => (host === 1 ? fleet : `${fleet}-${nameOf(host)}`);
  const addArgs = () => [
    ...["cluster", "add", `${nameOf(2)},${nameOf(3)}`, "--dir", fleet],
    ...["--route-port", `${hosts.ports.route}`],
  ];
  const editConfig = (change: (text: string) => string) => {
    const path = join(fleet, "svc.yaml");
    writeFileSync(path, change(readFileSync(path, "utf8")));
  };
  const ping = async (version: Version) => {
    const { code, stdout } = await svc(version, "run", "*", "test.ping", "--output", "json");
    if (code === 0) ended[version].push(JSON.parse(stdout).jid);
  };
  const startPeel = async (version: Version) => {
    const args = ["--config", join(fleet, "peel.yaml"), "--id", "web-1", "--health-addr", "127.0.0.2:0"];
    peel = hosts.start(1, [programs[version].peel, ...args], { SVC_DATA_DIR: peelData });
    await peel.waitFor(/waiting for an operator's approval|peel connected/);
  };

  test("the earlier version makes a fleet of one host, and it runs jobs", async () => {
    const made = await hosts.run(1, [
      ...[programs.earlier.cli, "init", fleet, "--host", nameOf(1)],
      ...hosts.flags,
    ]);
    expect(made).toMatchObject({ code: 0 });
    hosts.place(1, fleet);
    master = hosts.startMaster(1, fleet, programs.earlier.master);
    await master.waitFor("master ready");
    installBusRoot(fleet, peelData);
    await startPeel("earlier");
    const listed = await svc("earlier", "enroll", "list", "--state", "pending", "--output", "json");
    const [{ id }] = JSON.parse(listed.stdout);
    expect(await svc("earlier", "enroll", "approve", id)).toMatchObject({ code: 0 });
    await peel.waitFor("peel connected");
    await until(
      () => ping("earlier"),
      () => ended.earlier.length > 0,
    );
  });

  test("it moves to three hosts while jobs run, after its master was upgraded", async () => {
    master.kill("SIGTERM");
    await master.exited;
    master = hosts.startMaster(1, fleet);
    await master.waitFor("master ready");
    load = (async () => {
      while (loading) {
        await ping("earlier");
        await ping("current");
      }
    })();
    const adding = hosts.start(1, [programs.current.cli, "--config", join(fleet, "svc.yaml"), ...addArgs()]);
    await adding.waitFor("no server answers yet");
    for (const host of [2, 3]) {
      hosts.place(host, dirOf(host));
      hosts.startMaster(host, dirOf(host));
    }
    await adding.waitFor("Restart the master here now", 120_000);
    master.kill("SIGTERM");
    await master.exited;
    master = hosts.startMaster(1, fleet);
    await master.waitFor("master ready", 120_000);
    expect(await adding.exited).toBe(0);
  });

  test("the earlier peel goes on, nothing is lost, and the replicas are equal", async () => {
    const counts = () => Object.values(ended).map(({ length }) => length);
    const before = counts();
    await until(counts, (now) => now.every((count, i) => count > (before[i] ?? 0)));
    loading = false;
    await load;
    const status = await until(
      async () => JSON.parse((await svc("current", "cluster", "status", "--output", "json")).stdout),
      ({ problems }) => problems.length === 0,
    );
    expect(status).toMatchObject({
      members: hosts.names.map((server) => ({ server, state: "up" })),
      wanted_replicas: 3,
    });
    const checked = await svc("current", "cluster", "check", "--output", "json");
    expect(JSON.parse(checked.stdout)).toMatchObject({ differences: [] });
    const listed = await svc("current", "job", "list", "--limit", "500", "--output", "json");
    const states = new Map(
      JSON.parse(listed.stdout).map((job: { jid: string; status: string }) => [job.jid, job.status]),
    );
    const all = Object.values(ended).flat();
    expect(all.map((jid) => [jid, states.get(jid)])).toEqual(all.map((jid) => [jid, "completed"]));
  });

  test("the peel is upgraded, and knows all servers without a new enrollment", async () => {
    peel.kill("SIGTERM");
    await peel.exited;
    await startPeel("current");
    await peel.waitFor("peel connected");
    master.kill("SIGTERM");
    await master.exited;
    const urls = hosts.names.map((name) => `tls://${name}:${hosts.ports.bus}`).join(", ");
    editConfig((text) => text.replace(/urls:\n.*/, `urls: [${urls}]`));
    const { length } = ended.current;
    await until(
      () => ping("current"),
      () => ended.current.length > length,
    );
  });
});
