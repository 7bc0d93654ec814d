import { readdirSync } from "node:fs";
import type { Clock, Timer } from "../clock.ts";
import { isErrno } from "../file.ts";
import { statOf } from "./process-stat.ts";

const killAfterMs = 5_000;
const pollMs = 100;
/** How long the end of a killed leader is waited for; one that hangs in the kernel may take forever. */
const giveUpMs = 2_000;

/**
 * Ends a process group: SIGTERM, and SIGKILL after 5 seconds for what is still there.
 *
 * @param leader process id of the leader, which is the id of the group
 * @param exited resolves when the leader ended
 * @returns when the whole group is gone, or was killed
 */
export async function stopGroup(leader: number, exited: Promise<unknown>, clock: Clock): Promise<void> {
  const ended = Promise.withResolvers<void>();
  const timers = new Set<Timer>();
  // A group that was found empty is never signaled again: its number may soon be somebody else's.
  const look = () => {
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
    look();
    timers.add(clock.every(pollMs, look));
  });
  await ended.promise;
  for (const timer of timers) timer.cancel();
}

/** Whether the group has a member that still runs. */
function isAlive(leader: number): boolean {
  if (!signalGroup(leader, 0)) return false;
  let members: string[];
  try {
    members = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  } catch {
    return true;
  }
  // A member that ended is in the group until its parent takes note, in a container perhaps for ever.
  return members.some((pid) => {
    const [state, , group] = statOf(pid);
    return group === String(leader) && state !== "Z" && state !== "X";
  });
}

/** Sends a signal, or with 0 none; false when the group has no member at all. */
function signalGroup(leader: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(-leader, signal);
    return true;
  } catch (cause) {
    // EPERM: it is there, but became another user.
    return !isErrno(cause, "ESRCH");
  }
}
