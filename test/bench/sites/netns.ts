import { readFileSync } from "node:fs";
import { join } from "node:path";
import { sleep, systemClock } from "../../../internal/base/clock.ts";
import type { FleetCommand, FleetReport } from "../../fleet/worker.ts";
import { natsServerDirectory } from "../../harness/bus.ts";
import { binaries } from "../../harness/fleet.ts";
import { type Program, runProgram, startProgram } from "../../harness/process.ts";
import { temporaryDirectory } from "../../harness/temporary.ts";
import { until } from "../../harness/until.ts";
import { startWorker } from "../../harness/worker.ts";
import { readFlags } from "../flags.ts";
import { table } from "../table.ts";
import { carried, createNetwork, inNamespace, type Network, type Place } from "./network.ts";

// What a job costs on the links to two places with many peels: without sites, with sites and a command for each peel,
// and with one command for each site. Namespaces and delays of links need root. See docs/bench.md.

const flags = readFlags({
  ...{ peels: ["500", "20"], jobs: ["20", "1"], idle: ["20", "1"], cut: ["40", "5"] },
  ...{ "round-trip": "100", loss: "1" },
});
const names = ["berlin", "munich"];

/** Makes the network, and runs this script again in the namespace of the masters. */
async function outside(): Promise<void> {
  const options = { roundTripMs: flags.count("round-trip", 0), lossPercent: flags.count("loss", 0) };
  await using network = await createNetwork(names, options);
  const { hub, places } = network;
  const child = Bun.spawn(
    [...inNamespace(hub), process.execPath, import.meta.path, ...process.argv.slice(2)],
    {
      env: { ...process.env, SVC_BENCH_NETWORK: JSON.stringify({ hub, places }) },
      stdio: ["ignore", "inherit", "inherit"],
    },
  );
  process.exitCode = await child.exited;
}

interface Measured {
  down: number;
  up: number;
  ms: number;
}

async function inside({ places }: Pick<Network, "hub" | "places">): Promise<void> {
  using files = temporaryDirectory("sites");
  const rows: string[][] = [];
  let idle: string[][] = [];
  for (const how of ["no site", "sites, a command for each peel", "sites, one command for each site"]) {
    await using fleet = await startFleet(join(files.path, `fleet-${rows.length}`), places, how);
    const still = await fleet.idle();
    idle = [...idle, [how, ...perSecond(still)]];
    const { down, up, ms } = await fleet.jobs(still);
    const row = [how, kilobytes(down), kilobytes(up), kilobytes(down + up), ms.toFixed(0)];
    rows.push(row);
    // It takes minutes: what is known is told.
    process.stdout.write(`${row.join("  ")}\n`);
    if (how.endsWith("each site")) await fleet.cut();
  }
  process.stdout.write(`
${flags.count("peels")} peels at two places, links with a round trip of ${flags.count("round-trip", 0)} ms and ${flags.count("loss", 0)} % loss;
bytes of packets on both links for one test.ping on all peels, the mean of ${flags.count("jobs")}, without what idle peels send

${table(["", "to peels kB", "from peels kB", "both kB", "ms"], rows)}

Idle, per second

${table(["", "to peels kB", "from peels kB"], idle)}
`);
}

const kilobytes = (bytes: number): string => (bytes / 1000).toFixed(1);
const perSecond = ({ down, up, ms }: Measured): string[] =>
  [down, up].map((bytes) => kilobytes(bytes / (ms / 1000)));

async function startFleet(dir: string, places: readonly Place[], how: string) {
  const started: AsyncDisposable[] = [];
  const [first] = places;
  const host = first?.near ?? "";
  const env = { PATH: `${natsServerDirectory()}:${process.env.PATH}` };
  const done = async (...words: string[]) => {
    const ran = await runProgram([binaries.cli, ...words]);
    if (ran.code !== 0) throw new Error(`${words.join(" ")}: ${ran.stderr}`);
    return ran.stdout;
  };
  const start = (words: readonly string[], more: Record<string, string> = {}): Program => {
    const program = startProgram(words, { env: { ...env, ...more } });
    started.push(program);
    return program;
  };
  await done("init", dir, "--host", host, "--site-port", "7422");
  const master = start(
    [binaries.master, "--config", join(dir, "master.yaml"), "--health-addr", "127.0.0.1:0"],
    {
      SVC_DATA_DIR: dir,
    },
  );
  await master.waitFor("master ready");
  const hasSites = how !== "no site";
  if (hasSites) {
    for (const { name, namespace, far } of places) {
      const words = ["cluster", "add-site", name, "--dir", dir, "--host", far];
      const adding = start([binaries.cli, "--config", join(dir, "svc.yaml"), ...words]);
      await adding.waitFor("waiting for the server");
      const own = `${dir}-site-${name}`;
      start([...inNamespace(namespace), binaries.master, "--config", join(own, "master.yaml")], {
        SVC_DATA_DIR: own,
      });
      if ((await adding.exited) !== 0) throw new Error(adding.output());
    }
  }
  const each = flags.count("peels") / places.length;
  const workers = places.map((place) => {
    const worker = startWorker<FleetCommand, FleetReport>(
      join(import.meta.dir, "../../fleet/worker.ts"),
      inNamespace(place.namespace),
    );
    started.push(worker);
    return { place, worker };
  });
  await Promise.all(
    workers.map(async ({ place: { name, far }, worker }) => {
      const site = {
        busUrl: `tls://${hasSites ? far : host}:4222`,
        storeUrl: `tls://${host}:4222`,
        caPem: readFileSync(join(dir, "bus/nats-ca.crt"), "utf8"),
        authDir: join(dir, "auth"),
        ...{ dataDir: dir, commandKeys: [], light: true },
        ...(hasSites ? { label: name } : {}),
        ...(how.endsWith("each site") ? { siteName: name } : {}),
      };
      const peels = Array.from({ length: each }, (_, at) => `${name}-${at}`);
      await worker.request({ start: { site, peels, perSecond: 50 } });
      await worker.request({ greeted: true });
    }),
  );
  const devices = places.map(({ device }) => device);
  const measure = async (run: () => Promise<unknown>): Promise<Measured> => {
    const [before, since] = [carried(devices), systemClock.monotonic()];
    await run();
    const after = carried(devices);
    const ms = systemClock.monotonic() - since;
    return { down: after.down - before.down, up: after.up - before.up, ms };
  };
  const ping = async (): Promise<number> => {
    const words = ["run", "*", "test.ping", "--yes", "--timeout", "30s", "--output", "json"];
    // Until all have taken it, the exit code is that of a job with failures.
    const { stdout } = await runProgram([binaries.cli, "--config", join(dir, "svc.yaml"), ...words]);
    const { counts = {} } = JSON.parse(stdout || "{}") as { counts?: Record<string, number> };
    return counts.ok ?? 0;
  };
  await until(ping, (count) => count === each * places.length);
  return {
    idle: () => measure(() => sleep(systemClock, flags.count("idle") * 1000)),
    async jobs(still: Measured): Promise<Measured> {
      const count = flags.count("jobs");
      let spent = 0;
      const all = await measure(async () => {
        for (let at = 0; at < count; at++) {
          const since = systemClock.monotonic();
          if ((await ping()) === 0) throw new Error("a job has no answers");
          spent += systemClock.monotonic() - since;
        }
        // What is confirmed after the job has ended.
        await sleep(systemClock, 2_000);
      });
      const without = (bytes: number, idle: number) => (bytes - (idle * all.ms) / still.ms) / count;
      return {
        down: without(all.down, still.down),
        up: without(all.up, still.up),
        ms: spent / count,
      };
    },
    /** Cuts the first link off, and says what happens when it is back. */
    async cut() {
      const [device = ""] = devices;
      const link = (state: string) => runProgram(["ip", "link", "set", device, state]);
      for (const { worker } of workers) await worker.request({ reset: true });
      await link("down");
      await sleep(systemClock, flags.count("cut") * 1000);
      await link("up");
      const since = systemClock.monotonic();
      const back = await measure(() => until(ping, (count) => count === each * places.length));
      const backMs = systemClock.monotonic() - since;
      const reports = await Promise.all(workers.map(({ worker }) => worker.request({ reports: true })));
      const again = reports.map(({ connectedAt }) => connectedAt.length);
      process.stdout.write(
        `The link of ${names[0]} was cut for ${flags.count("cut")} s: all peels answered again ${(backMs / 1000).toFixed(1)} s after, both links carried ${kilobytes(back.down + back.up)} kB meanwhile, and ${again.join(" and ")} peels connected again\n`,
      );
    },
    async [Symbol.asyncDispose]() {
      for (const one of started.reverse()) await one[Symbol.asyncDispose]();
    },
  };
}

if (process.env.SVC_BENCH_NETWORK === undefined) await outside();
else await inside(JSON.parse(process.env.SVC_BENCH_NETWORK) as Pick<Network, "hub" | "places">);
