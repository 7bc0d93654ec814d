import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ServerVersion } from "../../harness/bus.ts";
import { type ClusterHosts, startHosts } from "../../harness/cluster-hosts.ts";
import { binaries } from "../../harness/fleet.ts";
import type { Program } from "../../harness/process.ts";
import { onFullDisk } from "../../harness/small-disk.ts";
import { until } from "../../harness/until.ts";

// docs/clusters.md, "From one host to three": a fleet of one host moves while its peel runs jobs. The commands and the
// master are killed on the way, and started again. Nothing that was acknowledged is lost.

/** A fleet of one host that moves to three. @param server its nats-server */
export function moveCases({ path, version }: ServerVersion): void {
  describe(`with nats-server ${version}`, () => {
    let hosts: ClusterHosts;
    let fleet: string;
    let master: Program;
    let others: Program[] = [];
    let adding: Program;
    /** Jobs whose end was shown. */
    const ended: string[] = [];
    let load: Promise<void>;
    let loading = true;

    beforeAll(async () => {
      hosts = await startHosts(3, path);
      fleet = join(hosts.dir, "fleet");
    });
    afterAll(async () => {
      loading = false;
      await load;
      await hosts?.[Symbol.asyncDispose]();
    }, 60_000);

    const svcWords = (...args: string[]) => [binaries.cli, "--config", join(fleet, "svc.yaml"), ...args];
    const svc = (...args: string[]) => hosts.run(1, svcWords(...args));
    const nameOf = (host: number) => hosts.names[host - 1] ?? "";
    const dirOf = (host: number) => (host === 1 ? fleet : `${fleet}-${nameOf(host)}`);
    const addWords = () => [
      ...svcWords("cluster", "add", `${nameOf(2)},${nameOf(3)}`, "--dir", fleet),
      ...["--route-port", `${hosts.ports.route}`],
    ];
    const kill = async (program: Program) => {
      program.kill("SIGKILL");
      await program.exited;
    };
    const snapshot = () =>
      ["master.yaml", "bus/nats-server.conf", "bus/nats-server.crt"].map((name) =>
        readFileSync(join(fleet, name), "utf8"),
      );

    async function ping(): Promise<void> {
      const { code, stdout } = await svc("run", "*", "test.ping", "--output", "json");
      if (code === 0) ended.push(JSON.parse(stdout).jid);
    }

    test("a fleet of one host runs jobs", async () => {
      const flags = ["--host", nameOf(1), ...hosts.flags];
      expect((await hosts.run(1, [binaries.cli, "init", fleet, ...flags])).code).toBe(0);
      hosts.place(1, fleet);
      master = hosts.startMaster(1, fleet);
      await master.waitFor("master ready");
      const peel = hosts.start(
        1,
        [
          binaries.peel,
          "--config",
          join(fleet, "peel.yaml"),
          "--id",
          "web-1",
          "--health-addr",
          "127.0.0.2:0",
        ],
        { SVC_DATA_DIR: join(fleet, "peel") },
      );
      await peel.waitFor("enrollment pending");
      expect((await svc("enroll", "approve", "--all", "--yes")).code).toBe(0);
      await peel.waitFor("peel connected");
      await until(ping, () => ended.length > 0);
      const { stdout, code } = await svc("cluster", "status", "--output", "json");
      expect([code, JSON.parse(stdout).clustered, JSON.parse(stdout).members.length]).toEqual([0, false, 1]);
    }, 120_000);

    test("a plan changes nothing, and hosts that others cannot reach are refused", async () => {
      const before = [snapshot(), readdirSync(hosts.dir).sort()];
      const planned = await hosts.run(1, [...addWords(), "--dry-run"]);
      expect([planned.code, planned.stdout]).toEqual([
        0,
        expect.stringContaining(`write ${dirOf(2)} for ${nameOf(2)}`),
      ]);
      const local = await svc("cluster", "add", "localhost", "--dir", fleet);
      expect([local.code, local.stderr]).toEqual([
        2,
        expect.stringContaining("a loopback address cannot be reached"),
      ]);
      for (const [words, said] of [
        [`${nameOf(2)},*.fleet.test`, "*.fleet.test is a pattern: name each host"],
        [`${nameOf(2)},,${nameOf(3)}`, '"" is not a DNS name'],
        [`${nameOf(2)},${nameOf(2)}`, `${nameOf(2)} is named twice`],
        [`${nameOf(1)},${nameOf(2)}`, `${nameOf(1)} is the host of ${fleet}: name only the others`],
        [nameOf(2), `${nameOf(1)} and ${nameOf(2)} would be a cluster of 2`],
      ] as const) {
        const wrong = await svc("cluster", "add", words, "--dir", fleet);
        expect([wrong.code, wrong.stdout, wrong.stderr]).toEqual([2, "", expect.stringContaining(said)]);
      }
      const elsewhere = await svc("cluster", "add", nameOf(2), "--dir", hosts.dir);
      expect([elsewhere.code, elsewhere.stderr]).toEqual([
        1,
        expect.stringContaining("master.yaml cannot be read"),
      ]);
      expect([snapshot(), readdirSync(hosts.dir).sort()]).toEqual(before);
    }, 60_000);

    test("an operator whose roles do not have it is refused, and nothing changes", async () => {
      const before = [snapshot(), readdirSync(hosts.dir).sort()];
      const [file, config] = [join(fleet, "bob.operator"), join(fleet, "bob.yaml")];
      const added = await svc("operator", "add", "bob", "--role", "operator", "--with-key");
      writeFileSync(file, added.stdout, { mode: 0o600 });
      const own = readFileSync(join(fleet, "svc.yaml"), "utf8");
      writeFileSync(config, own.replace(/operator_file: .*/, `operator_file: ${file}`));
      const asBob = (...args: string[]) => hosts.run(1, [binaries.cli, "--config", config, ...args]);
      expect((await asBob("cluster", "status")).code).toBe(0);
      for (const args of [addWords().slice(3), ["cluster", "remove", nameOf(2)]]) {
        const refused = await asBob(...args);
        expect([refused.code, refused.stdout, refused.stderr]).toEqual([
          1,
          "",
          expect.stringContaining(`svc: bob may not do this (cluster ${args[1]})`),
        ]);
      }
      expect([snapshot(), readdirSync(hosts.dir).sort()]).toEqual(before);
    }, 60_000);

    test("on a full disk nothing is left half written, and the command works when there is room", async () => {
      const [disk, thin] = ["disk", "thin"].map((name) => join(hosts.dir, name));
      if (disk === undefined || thin === undefined) throw new Error("no directories");
      mkdirSync(disk);
      cpSync(fleet, join(thin, "fleet"), {
        recursive: true,
        filter: (path) => !path.startsWith(join(fleet, "bus/store/jetstream")),
      });
      const again = addWords().map((word) => (word === fleet ? join(disk, "fleet") : word));
      const script = '"$@" || true; ls -A "$dir" "$dir/fleet"; rm "$filler"; exec "$@"';
      const adding = hosts.start(1, [...onFullDisk(disk, thin), script, "sh", ...again]);
      await adding.waitFor(`${join(disk, `fleet-${nameOf(3)}`)}: written`);
      await kill(adding);
      const [full = ""] = adding.output().split(": written");
      expect(full).toMatch(/svc: .*(?:no space|ENOSPC)/i);
      expect(full).not.toMatch(/^\.?fleet-/m);
    }, 60_000);

    test("the hosts get their directories once, anyone who asks how often; this host waits for them", async () => {
      const before = snapshot();
      const killed = hosts.start(1, addWords());
      await killed.waitFor(`${dirOf(3)}: written`);
      await kill(killed);
      const again = hosts.start(1, addWords());
      adding = hosts.start(1, addWords());
      for (const one of [again, adding]) {
        await one.waitFor(`${dirOf(3)}: is there`);
        await one.waitFor("no server answers yet");
      }
      await kill(again);
      for (const host of [2, 3]) {
        expect(readFileSync(join(dirOf(host), "master.yaml"), "utf8")).toContain("storage_create: false");
        const keys = readdirSync(join(dirOf(host), "auth"), { recursive: true }).map(String);
        expect(
          keys.filter((name) => /root\.key|operator\.seed|masters\.seed|recovery\.seed/.test(name)),
        ).toEqual([]);
      }
      expect(snapshot()).toEqual(before);
    }, 60_000);

    test("the new hosts create nothing, and this one gets its place when they have formed a group", async () => {
      load = (async () => {
        while (loading) await ping();
      })();
      others = [2, 3].map((host) => {
        hosts.place(host, dirOf(host));
        return hosts.startMaster(host, dirOf(host));
      });
      for (const other of others) await other.waitFor("the bus has nothing of this fleet yet");
      await adding.waitFor("Restart the master here now");
      await kill(adding);
      adding = hosts.start(1, addWords());
      await adding.waitFor("waiting for the restart of svc-master on this host");
      expect(await hosts.isReady(1)).toBe(true);
    }, 120_000);

    test("it moves its data, also after it was killed on the way, and nothing is lost", async () => {
      master.kill("SIGTERM");
      await master.exited;
      const first = hosts.startMaster(1, fleet);
      await first.waitFor("the data of this server moves to the cluster");
      await kill(first);
      master = hosts.startMaster(1, fleet);
      await master.waitFor("the data of this server is on the cluster");
      await master.waitFor("master ready");
      expect(await adding.exited).toBe(0);
      const urls = hosts.names.map((name) => `tls://${name}:${hosts.ports.bus}`).join(", ");
      expect(adding.output()).toContain(`  urls: [${urls}]`);
      const before = ended.length;
      await until(
        () => ended.length,
        (count) => count > before + 1,
      );
      loading = false;
      await load;
      const status = JSON.parse((await svc("cluster", "status", "--output", "json")).stdout);
      expect(
        status.members.map(({ server, state }: { server: string; state: string }) => [server, state]),
      ).toEqual(hosts.names.map((name) => [name, "up"]));
      expect(new Set(status.streams.map(({ replicas }: { replicas: number }) => replicas))).toEqual(
        new Set([3]),
      );
      const listed = JSON.parse((await svc("job", "list", "--limit", "500", "--output", "json")).stdout);
      const states = new Map(
        listed.map(({ jid, status: state }: { jid: string; status: string }) => [jid, state]),
      );
      expect(ended.map((jid) => [jid, states.get(jid)])).toEqual(ended.map((jid) => [jid, "completed"]));
      // Leases are written all the time, and a replica may be behind for a moment.
      await until(
        async () => {
          const { code, stdout } = await svc("cluster", "check", "--output", "json");
          return [code, JSON.parse(stdout).differences.length];
        },
        ([code, differences]) => code === 0 && differences === 0,
      );
      expect(existsSync(join(fleet, "bus/before-the-cluster/backup/backup.json"))).toBe(true);
    }, 240_000);

    test("hosts that are there already are not added again", async () => {
      const again = await hosts.run(1, addWords());
      expect([again.code, again.stderr]).toEqual([0, expect.stringContaining("nothing is left to add")]);
    }, 60_000);

    test("without one host, jobs run, and the status says who is missing", async () => {
      const [second] = others;
      second?.kill("SIGTERM");
      await second?.exited;
      const status = await until(
        () => svc("cluster", "status", "--output", "json"),
        ({ stdout }) => stdout.includes('"missing"'),
      );
      expect([status.code, status.stderr]).toEqual([
        1,
        expect.stringContaining(`${nameOf(2)} does not answer`),
      ]);
      const before = ended.length;
      await until(ping, () => ended.length > before);
    }, 120_000);
  });
}
