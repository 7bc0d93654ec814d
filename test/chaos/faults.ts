import { closeSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { sleep, systemClock } from "../../internal/base/clock.ts";
import { blockOf, flipBit, journalOf } from "./damage.ts";
import type { Fault, FaultKind } from "./schedule.ts";
import type { BusServer } from "./servers.ts";
import type { Site } from "./site.ts";
import type { Unit } from "./unit.ts";

/** A fault that has begun. */
interface Begun {
  readonly victim: string;
  /** Ends it: what was broken is started again, and nothing waits until it works. */
  end(): Promise<void> | void;
}

type Begin = (site: Site, fault: Fault) => Promise<Begun> | Begun;

const clock = systemClock;
/** How many peels a fault of peels hits. */
const several = 4;

function pick<T>(list: readonly T[], place: number): T {
  const found = list[Math.floor(place * list.length)];
  if (found === undefined) throw new Error("nothing to break");
  return found;
}
const nameOf = (units: readonly Unit[]) => units.map(({ host }) => host.name).join(" ");
const somePeels = ({ peels }: Site, { victim }: Fault) => {
  const from = Math.floor(victim * peels.length);
  return [...peels, ...peels].slice(from, from + several);
};
const aServer = ({ servers }: Site, { victim }: Fault): BusServer => pick(servers.list, victim);
const aMaster = ({ masters }: Site, { victim }: Fault) => pick(masters, victim);
const ownDiskOf = ({ servers }: Site): BusServer => {
  const found = servers.list.find(({ ownDisk }) => ownDisk);
  if (found === undefined) throw new Error("no server has a disk of its own");
  return found;
};

async function kill(units: readonly Unit[]): Promise<Begun> {
  await Promise.all(units.map((unit) => unit.end("SIGKILL")));
  return { victim: nameOf(units), end: () => units.forEach((unit) => void unit.start()) };
}

function freeze(units: readonly Unit[]): Begun {
  for (const unit of units) unit.signal("SIGSTOP");
  return { victim: nameOf(units), end: () => units.forEach((unit) => void unit.signal("SIGCONT")) };
}

function cutOff({ network }: Site, { host }: Unit): Begun {
  network.plug(host, false);
  return { victim: host.name, end: () => network.plug(host, true) };
}

/** A server that clients reach, and that reaches no other server. */
function split(site: Site, fault: Fault): Begun {
  const { network, servers } = site;
  const alone = aServer(site, fault);
  const others = servers.list.filter((server) => server !== alone);
  const all = (open: boolean) => {
    for (const other of others) network.route(alone.host, other.host, open);
  };
  all(false);
  return { victim: alone.host.name, end: () => all(true) };
}

/** A network that drops everything for a moment, again and again. */
function flap(site: Site, fault: Fault): Begun {
  const { host } = pick([...site.servers.list, ...site.masters], fault.victim);
  const ending = new AbortController();
  const flapping = (async () => {
    while (!ending.signal.aborted) {
      site.network.plug(host, false);
      await sleep(clock, 400);
      site.network.plug(host, true);
      await sleep(clock, 800, ending.signal).catch(() => {});
    }
  })();
  return {
    victim: host.name,
    async end() {
      ending.abort();
      await flapping;
    },
  };
}

function fillDisk(site: Site): Begun {
  const server = ownDiskOf(site);
  const filler = join(server.dir, "filler");
  const file = openSync(filler, "w");
  const block = Buffer.alloc(64 * 1024, 1);
  try {
    for (;;) writeSync(file, block);
  } catch {
    // Full.
  } finally {
    closeSync(file);
  }
  return {
    victim: server.host.name,
    async end() {
      rmSync(filler);
      // JetStream stays off after a full disk until the server is restarted (docs/bus.md).
      await server.end("SIGTERM");
      server.start();
    },
  };
}

/** Delays each call with which a server writes files, with strace. */
function slowDown(site: Site): Begun {
  const server = ownDiskOf(site);
  const calls = "pwrite64,fsync,fdatasync,openat,renameat,unlinkat";
  const strace = Bun.spawn(
    [
      ...["strace", "-f", "-qq", "-p", `${server.pid()}`, "-o", "/dev/null", "-e", `trace=${calls}`],
      ...["-e", `inject=${calls}:delay_enter=30000`],
    ],
    { stdio: ["ignore", "ignore", "ignore"] },
  );
  return {
    victim: server.host.name,
    async end() {
      strace.kill("SIGTERM");
      await strace.exited;
    },
  };
}

async function shiftClock(site: Site, fault: Fault): Promise<Begun> {
  const master = aMaster(site, fault);
  await master.end("SIGTERM");
  const environment = { LD_PRELOAD: clockLibrary(site.dir), CHAOS_CLOCK_OFFSET: `${fault.offsetSeconds}` };
  master.start(environment);
  return {
    victim: `${master.host.name} ${fault.offsetSeconds} s`,
    async end() {
      await master.end("SIGTERM");
      master.start();
    },
  };
}

/** Damages a file of a unit while it does not run. */
async function damage(unit: Unit, place: number, find: () => string | undefined): Promise<Begun> {
  await unit.end("SIGKILL");
  const path = find();
  if (path !== undefined) flipBit(path, place);
  return { victim: `${unit.host.name} ${path ?? "(no file)"}`, end: () => unit.start() };
}

async function restartAll({ servers }: Site): Promise<Begun> {
  for (const server of servers.list) {
    await server.end("SIGTERM");
    server.start();
    await untilHealthy(server);
  }
  return { victim: nameOf(servers.list), end() {} };
}

const healthyWithinMs = 30_000;

/** Waits until a server serves and has caught up, for a limited time. */
async function untilHealthy({ monitor }: BusServer): Promise<boolean> {
  const until = clock.monotonic() + healthyWithinMs;
  while (clock.monotonic() < until) {
    const ok = await fetch(`${monitor}/healthz`, { signal: AbortSignal.timeout(2_000) }).then(
      (response) => response.ok,
      () => false,
    );
    if (ok) return true;
    await sleep(clock, 500);
  }
  return false;
}

const begins: Readonly<Record<FaultKind, Begin>> = {
  "kill bus": (site, fault) => kill([aServer(site, fault)]),
  "kill master": (site, fault) => kill([aMaster(site, fault)]),
  "kill peels": (site, fault) => kill(somePeels(site, fault)),
  "freeze bus": (site, fault) => freeze([aServer(site, fault)]),
  "freeze master": (site, fault) => freeze([aMaster(site, fault)]),
  "freeze peels": (site, fault) => freeze(somePeels(site, fault)),
  "cut off bus": (site, fault) => cutOff(site, aServer(site, fault)),
  "cut off master": (site, fault) => cutOff(site, aMaster(site, fault)),
  "split cluster": split,
  "flapping link": flap,
  "full disk": fillDisk,
  "slow disk": slowDown,
  "wrong clock": shiftClock,
  "damaged journal": (site, fault) => {
    const peel = pick(site.peels, fault.victim);
    return damage(peel, fault.place, () => journalOf(peel.dir));
  },
  "damaged block": (site, fault) => {
    const server = aServer(site, fault);
    return damage(server, fault.place, () => blockOf(server.dir, fault.place));
  },
  "rolling restart": restartAll,
};

/** Begins a fault, keeps it for its time, and ends it. @returns the victim */
export async function inflict(site: Site, fault: Fault): Promise<string> {
  const { victim, end } = await begins[fault.kind](site, fault);
  await sleep(clock, fault.ms);
  await end();
  return victim;
}

/** Where the library that shifts clocks is, once it was built. */
export function clockLibrary(dir: string): string {
  return join(dir, "shifted-clock.so");
}
