import { sleep, systemClock } from "../../internal/base/clock.ts";
import { cpuSecondsOf } from "../harness/usage.ts";

const pauseMs = 500;
const maxTurns = 120;
const idleSeconds = 0.02;

/** Waits until a program is over with what was asked of it before, for a minute at most. */
export async function quiet(pid: number): Promise<void> {
  for (let turn = 0; turn < maxTurns; turn++) {
    const before = cpuSecondsOf(pid);
    await sleep(systemClock, pauseMs);
    if (cpuSecondsOf(pid) - before < idleSeconds) return;
  }
}
