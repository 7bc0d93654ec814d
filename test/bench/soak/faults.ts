import { sleep, systemClock } from "../../../internal/base/clock.ts";
import type { Fleet } from "../../fleet/fleet.ts";
import type { TestBus } from "../../harness/bus.ts";
import { type Daemon, type MasterDaemon, startMasterBinary, startPeelBinary } from "../../harness/fleet.ts";
import type { Program } from "../../harness/process.ts";

/** A fleet that faults change. */
export interface Site {
  readonly bus: TestBus;
  readonly fleet: Fleet;
  readonly masterFlags: readonly string[];
  /** Is frozen, and never killed. */
  readonly steady: MasterDaemon;
  killed: MasterDaemon;
  /** Real peels, by their names. */
  readonly peels: Map<string, Daemon>;
}

const frozenMs = 8_000;
const awayMs = 20_000;
/** For a program that starts while other work runs on the machine. */
const patienceMs = 10 * 60_000;

/** What happens every few minutes. Each ends with the programs running again; the bus is killed least often. */
export const faults: Readonly<Record<string, (site: Site, random: () => number) => Promise<void>>> = {
  "a master is killed": async (site) => {
    site.killed.program.kill("SIGKILL");
    await site.killed.program.exited;
    await site.killed[Symbol.asyncDispose]();
    site.killed = await startMasterBinary(site.bus, site.masterFlags, {}, [], {}, patienceMs);
  },
  "a master is frozen": ({ steady }) => freeze(steady.program),
  "a fifth of the peels loses its connection": async ({ fleet }, random) => {
    const gone = fleet.peels.filter(() => random() < 0.2);
    await fleet.goAway(gone);
    await sleep(systemClock, awayMs);
    await fleet.comeBack(gone);
  },
  "a peel is killed": async ({ bus, steady, peels }, random) => {
    const [name = "", peel] = [...peels][Math.floor(random() * peels.size)] ?? [];
    if (peel === undefined) return;
    peel.program.kill("SIGKILL");
    await peel.program.exited;
    await peel[Symbol.asyncDispose]();
    const again = startPeelBinary(bus, steady.url, name, { dir: peel.dir });
    peels.set(name, again);
    await again.program.waitFor("peel connected", patienceMs);
  },
  "the bus is frozen": ({ bus }) => freeze(bus.server()),
  "the bus is killed": ({ bus }) => bus.restart("SIGKILL"),
};

async function freeze(program: Program): Promise<void> {
  program.kill("SIGSTOP");
  await sleep(systemClock, frozenMs);
  program.kill("SIGCONT");
}

/** The next fault: each one in turn, in an order of its own each time, and the last of the table every third time. */
export function* drawFaults(random: () => number, names: readonly string[]): Generator<string> {
  for (let round = 0; ; round++) {
    const some = round % 3 === 2 ? names : names.slice(0, -1);
    yield* some
      .map((name) => [random(), name] as const)
      .sort(([one], [other]) => one - other)
      .map(([, name]) => name);
  }
}
