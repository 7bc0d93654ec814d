import { readdirSync } from "node:fs";
import type { Clock, Timer } from "../clock.ts";
import { isErrno } from "../files/file.ts";
import { statOf } from "./process-stat.ts";

const killAfterMs = 5_000;
const pollMs = 100;
/** How long to wait for a killed leader to exit. A process that hangs in the kernel may never exit. */
const giveUpMs = 2_000;

/**
 * Stops a process group: SIGTERM, then SIGKILL after 5 seconds for the processes that still run.
 *
 * @param leader process id of the leader, which is also the id of the group
 * @param exited resolves when the leader has exited
 * @returns when the whole group has exited, or was killed
 */
export async function stopGroup(leader: number, exited: Promise<unknown>, clock: Clock): Promise<void> {
  const ended = Promise.withResolvers<void>();
  const timers = new Set<Timer>();
  // Never signal a group again after it was empty: its id may be reused.
  const check = () => {
    if (!isAlive(leader)) ended.resolve();
  };
  signalGroup(leader, "SIGTERM");
  timers.add(
    clock.after(killAfterMs, () => {
      signalGroup(leader, "SIGKILL");
      void exited.then(() => ended.resolve());
      timers.add(clock.after(giveUpMs, ended.resolve));
    }),
  );
  void exited.then(() => {
    check();
    timers.add(clock.every(pollMs, check));
  });
  await ended.promise;
  for (const timer of timers) timer.cancel();
}

/**
 * Kills what is left of a group whose leader has just exited. Call it at once: the id of a group that is empty may be
 * used again.
 */
export function killRest(leader: number): void {
  signalGroup(leader, "SIGKILL");
}

/** Whether any process of the group still runs. */
function isAlive(leader: number): boolean {
  if (!signalGroup(leader, 0)) return false;
  let members: string[];
  try {
    members = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  } catch {
    return true;
  }
  // An exited process stays in the group until its parent reaps it. In a container that may never happen.
  return members.some((pid) => {
    const [state, , group] = statOf(pid);
    return group === String(leader) && state !== "Z" && state !== "X";
  });
}

/** Sends a signal; 0 sends none. Returns false when the group has no processes. */
function signalGroup(leader: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(-leader, signal);
    return true;
  } catch (cause) {
    // EPERM: the process exists, but runs as another user.
    return !isErrno(cause, "ESRCH");
  }
}
