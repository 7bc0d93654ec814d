import { startBus, type TestBus } from "../../harness/bus.ts";
import {
  type Daemon,
  type MasterDaemon,
  startMasterBinary,
  startPeelBinary,
  svc,
} from "../../harness/fleet.ts";

/** A bus, a master, and peels that are connected, all on this machine. */
export interface SvcFleet extends AsyncDisposable {
  bus: TestBus;
  master: MasterDaemon;
  peels: Daemon[];
}

/** A minute is not enough for peels that start at the same time on a busy machine. */
const patienceMs = 600_000;

export async function startSvc(ids: readonly string[]): Promise<SvcFleet> {
  await using started = new AsyncDisposableStack();
  const bus = started.use(await startBus());
  const master = started.use(await startMasterBinary(bus));
  const peels = ids.map((id) => started.use(startPeelBinary(bus, master.url, id)));
  for (const { program } of peels) await program.waitFor("waiting for an operator's approval", patienceMs);
  const { code, stderr } = await svc(bus, "enroll", "approve", "--all", "--yes");
  if (code !== 0) throw new Error(stderr);
  for (const { program } of peels) await program.waitFor("peel connected", patienceMs);
  const all = started.move();
  return { bus, master, peels, [Symbol.asyncDispose]: () => all.disposeAsync() };
}
