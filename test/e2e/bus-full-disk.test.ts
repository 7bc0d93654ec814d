import { expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { isOlderVersion } from "../../internal/base/dotted-version.ts";
import { connectTo, natsServerVersions } from "../harness/bus.ts";
import { cli } from "../harness/cli.ts";
import { replicasBecome, startCluster } from "../harness/cluster.ts";
import { readinessBecomes } from "../harness/enrollee.ts";
import { startMaster } from "../harness/master.ts";
import { observedLog } from "../harness/peel-connection.ts";
import { until } from "../harness/until.ts";

// The disk of one server of three fills up and is freed again, in a mount namespace of that server. Servers
// before 2.11 switch JetStream off for good; newer ones keep it, and a stream can stay broken.

setDefaultTimeout(150_000);

const small = 48;
const withSmallDisk = (store: string) => {
  mkdirSync(store, { recursive: true });
  const asRoot = process.getuid?.() === 0 ? [] : ["--map-root-user"];
  const mount = `mount -t tmpfs -o size=${small}m none "$0" && exec "$@"`;
  return ["unshare", ...asRoot, "--mount", "sh", "-c", mount, store];
};

const replicable = natsServerVersions().filter(({ version }) => !isOlderVersion(version, "2.10.27"));

test.each(replicable)(
  "a server of $version whose disk was full is reported, with what to do",
  async ({ path }) => {
    await using cluster = await startCluster(3, (name) => ({
      server: path,
      edit: (text) => text.replace("jetstream {", "jetstream {\n  max_file_store: 256MB"),
      ...(name === "n2" ? { before: withSmallDisk } : {}),
    }));
    const log = observedLog();
    await using master = await startMaster(cluster.bus, { log });
    await readinessBecomes(master.healthUrl, 200);
    await replicasBecome(cluster.bus, 3);
    const [, , node] = cluster.nodes;
    if (node === undefined) throw new Error("the cluster has no third server");
    const filler = join(`/proc/${node.program().pid}/root`, node.store, "filler");
    expect(() => writeFileSync(filler, new Uint8Array((small + 1) * 1024 * 1024))).toThrow("ENOSPC");
    const bus = await connectTo(cluster.bus, "master");
    // Facts of peels, until the server notices that it cannot write.
    const value = new Uint8Array(20_000);
    const reported = log.logged("the servers of the bus need attention", ({ reason }) =>
      /JetStream is off on n2|the storage of n2 does not work/.test(String(reason)),
    );
    for (let i = 0; i < 40; i++) {
      await bus.nats.request(`$KV.facts.filler-${i}`, value, { timeout: 5_000 }).catch(() => undefined);
    }
    rmSync(filler);
    const { fields } = await reported;
    expect(fields.next).toMatch(/restart that server/);
    const metrics = async () => (await fetch(`${master.healthUrl}/metrics`)).text();
    expect(await metrics()).toContain('svc_bus_server_healthy{server="n2"} 0');
    expect(await metrics()).toContain('svc_bus_server_healthy{server="n0"} 1');
    const readiness = (await (await fetch(`${master.healthUrl}/readyz`)).json()) as {
      checks: Record<string, { status: string }>;
    };
    expect(readiness.checks["bus-servers"]?.status).toBe("degraded");
    // The others elect new leaders meanwhile, and doctor stops at storage that does not answer.
    const text = await until(
      async () => (await cli(cluster.bus, "doctor")).stdout,
      (text) => /bus-servers: (JetStream is off on n2|the storage of n2 does not work)/.test(text),
      120_000,
    );
    expect(text).toContain("restart that server");
    await bus.nats.close();
  },
);
