import { startBus, type TestBus } from "../../harness/bus.ts";
import { startCluster } from "../../harness/cluster.ts";
import { cpuSecondsOf } from "../../harness/usage.ts";

/** The bus of the bench: one server, or a cluster. */
export interface Buses extends AsyncDisposable {
  /** As the master enters it. */
  readonly bus: TestBus;
  /** Of all servers. */
  readonly urls: readonly string[];
  readonly pids: readonly number[];
  /** Processor time of all servers so far, also of those that were killed. */
  cpuSeconds(): number;
  /** The server that `kill` kills: never the one of the master, where there are several. */
  readonly victim: string;
  /** Kills a server, and starts it again. */
  kill(): Promise<void>;
}

/** @param servers 1, or 3 and more: two servers have no majority without one of them */
export async function startBuses(servers: number): Promise<Buses> {
  const opened = await open(servers);
  const now = (pids: readonly number[]) => pids.reduce((sum, pid) => sum + cpuSecondsOf(pid), 0);
  let ended = 0;
  return {
    ...opened,
    get pids() {
      return opened.pids();
    },
    cpuSeconds: () => ended + now(opened.pids()),
    async kill() {
      ended += cpuSecondsOf(opened.lastPid());
      await opened.kill();
    },
  };
}

type Opened = Omit<Buses, "pids" | "cpuSeconds"> & { pids(): number[]; lastPid(): number };

async function open(servers: number): Promise<Opened> {
  if (servers === 2) throw new Error("--servers: a cluster has three servers or more");
  if (servers === 1) {
    const bus = await startBus();
    return {
      bus,
      urls: [bus.url],
      pids: () => [bus.server().pid],
      lastPid: () => bus.server().pid,
      victim: bus.url,
      kill: () => bus.restart("SIGKILL"),
      [Symbol.asyncDispose]: () => bus[Symbol.asyncDispose](),
    };
  }
  const cluster = await startCluster(servers);
  const { bus, nodes } = cluster;
  const last = nodes.at(-1);
  if (last === undefined) throw new Error("a cluster without servers");
  return {
    bus,
    urls: nodes.map(({ url }) => url),
    pids: () => nodes.map((node) => node.program().pid),
    lastPid: () => last.program().pid,
    victim: last.url,
    async kill() {
      await last.stop("SIGKILL");
      await last.start();
    },
    [Symbol.asyncDispose]: () => cluster[Symbol.asyncDispose](),
  };
}
