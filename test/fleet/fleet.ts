import { readFileSync } from "node:fs";
import { join } from "node:path";
import { provision } from "../../internal/bus/assets/assets.ts";
import { keyPairFromSeed } from "../../internal/identity/nkey.ts";
import { connectTo, type TestBus } from "../harness/bus.ts";
import { startWorker, type Worker } from "../harness/worker.ts";
import { type Behavior, good } from "./behavior.ts";
import type { FleetCommand, FleetReport, Site } from "./worker.ts";

export interface FleetOptions {
  /** How many peels. */
  size: number;
  /** Number of processes. Each peel has its own connection in any case. */
  processes: number;
  /** Peels started per second, over all processes. */
  ramp: number;
  /** Peels that cost little, and believe every command; they do not behave in another way. */
  light?: boolean;
  /** The servers that light peels connect to, in turns; only that of the bus unless given. */
  urls?: readonly string[];
}

/** A fleet of simulated peels, members of their bus. Peel ids are `sim-00000`, `sim-00001` and so on. */
export interface Fleet extends AsyncDisposable {
  readonly peels: readonly string[];
  /** Of its processes. */
  readonly pids: readonly number[];
  /** Starts more peels; resolves when they are connected. */
  grow(count: number): Promise<void>;
  behave(peels: readonly string[], behavior: Partial<Behavior>): Promise<void>;
  /** Closes connections. The peels stay disconnected until `comeBack`. */
  goAway(peels: readonly string[]): Promise<void>;
  /** Lets peels connect again, which they do in their own time: await `greeted` after a `reset`. */
  comeBack(peels: readonly string[]): Promise<void>;
  /** Kills peels, and restarts them from their data directories. */
  restart(peels: readonly string[]): Promise<void>;
  stop(peels: readonly string[]): Promise<void>;
  /** Forgets who has connected and been greeted by a master. */
  reset(): Promise<void>;
  /** The same, for the light peels that are connected to this server. */
  lost(url: string): Promise<void>;
  /** Resolves when every peel has been greeted by a master on its present connection. */
  greeted(): Promise<FleetReport>;
  report(): Promise<FleetReport>;
  /** Resolves when this peel is not connected. */
  gone(peel: string): Promise<void>;
  /** Resolves when masters told every light peel these pins of roots last; none outside of a rotation. */
  reported(roots: readonly string[]): Promise<void>;
  /** Every light peel sends the report of a state run. */
  reportStates(): Promise<void>;
}

/** Starts a fleet on a bus; it is connected when this resolves. Masters are not needed for that. */
export async function startFleet(bus: TestBus, options: FleetOptions): Promise<Fleet> {
  await provisionStorage(bus);
  const site: Site = {
    busUrl: bus.url,
    caPem: bus.caPem,
    authDir: bus.authDir,
    dataDir: join(bus.dir, "fleet"),
    light: options.light ?? false,
    ...(options.urls === undefined ? {} : { urls: options.urls }),
    commandKeys: [keyPairFromSeed("user", readFileSync(join(bus.authDir, "command.seed"), "utf8")).publicKey],
  };
  const workers = Array.from({ length: options.processes }, () =>
    startWorker<FleetCommand, FleetReport>(join(import.meta.dir, "worker.ts")),
  );
  const homes = new Map<string, Worker<FleetCommand, FleetReport>>();

  const requestAll = async (command: FleetCommand): Promise<FleetReport> =>
    merge(await Promise.all(workers.map((worker) => worker.request(command))));
  const requestHomes = async (
    peels: readonly string[],
    command: (ids: readonly string[]) => FleetCommand,
  ): Promise<void> => {
    const byHome = Map.groupBy(peels, (peel) => homeOf(peel));
    await Promise.all([...byHome].map(([worker, ids]) => worker.request(command(ids))));
  };
  const homeOf = (peel: string) => {
    const home = homes.get(peel);
    if (home === undefined) throw new Error(`no simulated peel ${peel}`);
    return home;
  };

  let named = 0;
  const grow = async (count: number) => {
    const first = named;
    named += count;
    const peels = Array.from({ length: count }, (_, at) => `sim-${`${first + at}`.padStart(5, "0")}`);
    for (const [at, peel] of peels.entries()) homes.set(peel, workerAt(at));
    const perSecond = options.ramp / workers.length;
    await requestHomes(peels, (ids) => ({ start: { site, peels: ids, perSecond } }));
  };
  const workerAt = (at: number) => {
    const worker = workers[at % workers.length];
    if (worker === undefined) throw new Error("a fleet needs at least one process");
    return worker;
  };
  const dispose = async () => {
    for (const worker of workers) await worker[Symbol.asyncDispose]();
  };

  try {
    await grow(options.size);
  } catch (thrown) {
    await dispose();
    throw thrown;
  }
  return {
    get peels() {
      return [...homes.keys()];
    },
    pids: workers.map(({ pid }) => pid),
    grow,
    behave: (peels, behavior) =>
      requestHomes(peels, (ids) => ({ behave: { peels: ids, behavior: { ...good, ...behavior } } })),
    goAway: (peels) => requestHomes(peels, (away) => ({ away })),
    comeBack: (peels) => requestHomes(peels, (back) => ({ back })),
    restart: (peels) => requestHomes(peels, (restart) => ({ restart })),
    async stop(peels) {
      await requestHomes(peels, (stop) => ({ stop }));
      for (const peel of peels) homes.delete(peel);
    },
    async reset() {
      await requestAll({ reset: true });
    },
    async lost(url) {
      await requestAll({ lost: url });
    },
    greeted: () => requestAll({ greeted: true }),
    async gone(peel) {
      await homeOf(peel).request({ gone: peel });
    },
    async reported(roots) {
      await requestAll({ reported: roots });
    },
    report: () => requestAll({ report: true }),
    async reportStates() {
      await requestAll({ reports: true });
    },
    [Symbol.asyncDispose]: dispose,
  };
}

/** Creates what a master creates at start: the fleet may exist before it. */
async function provisionStorage(bus: TestBus): Promise<void> {
  const connection = await connectTo(bus, "master");
  await provision(connection, { replicas: 1, onlyRaise: true }, connection.log);
  await connection.nats.close();
}

function merge(reports: readonly FleetReport[]): FleetReport {
  const complaints: Record<string, number> = {};
  for (const report of reports) {
    for (const [event, count] of Object.entries(report.complaints)) {
      complaints[event] = (complaints[event] ?? 0) + count;
    }
  }
  return {
    peels: reports.reduce((sum, { peels }) => sum + peels, 0),
    connectedAt: reports.flatMap(({ connectedAt }) => connectedAt),
    greetedAt: reports.flatMap(({ greetedAt }) => greetedAt),
    complaints,
  };
}
