import { sleep, systemClock } from "../../../internal/base/clock.ts";
import type { TestBus } from "../../harness/bus.ts";
import { type Daemon, type MasterDaemon, startPeelBinary } from "../../harness/fleet.ts";
import { expectAnswer, requestMaster } from "../../harness/jobs.ts";

/** All peels share one address, which may make only some requests a minute: the later ones wait. */
const patienceMs = 120_000;

/** Starts a peel and approves it; it is connected when this resolves. */
export async function startMember(bus: TestBus, master: MasterDaemon, id: string): Promise<Daemon> {
  const peel = startPeelBinary(bus, master.url, id);
  try {
    const until = systemClock.monotonic() + patienceMs;
    while (!peel.program.output().includes('"peel connected"')) {
      if (systemClock.monotonic() > until)
        throw new Error(`${id} did not connect:\n${peel.program.output()}`);
      const pending = requestMaster(bus, master, "GET", "/api/v1/enrollments?state=pending");
      for (const { id: enrollment } of await expectAnswer<{ id: string }[]>(pending)) {
        await expectAnswer(
          requestMaster(bus, master, "POST", `/api/v1/enrollments/${enrollment}/approve`, {}),
        );
      }
      await sleep(systemClock, 300);
    }
    return peel;
  } catch (thrown) {
    await peel[Symbol.asyncDispose]();
    throw thrown;
  }
}
