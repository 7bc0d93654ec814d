import { constants } from "node:os";
import type { Clock } from "../../base/clock.ts";
import { isErrno } from "../../base/files/file.ts";

/** A peel process, the leader of its own process group. */
export interface Child {
  readonly pid: number;
  /** Aborts when the process has exited. */
  readonly gone: AbortSignal;
  /** How it exited: `code 1`, `SIGKILL`; undefined while it runs. */
  readonly end: string | undefined;
  /** Sends SIGTERM, and kills the rest of its group after the timeout. */
  stop(withinMs: number): Promise<void>;
  /** Kills its group at once, even when it is frozen. */
  kill(): Promise<void>;
}

export interface ChildOptions {
  program: string;
  args: readonly string[];
  env: Readonly<Record<string, string | undefined>>;
  clock: Clock;
}

/** Starts a peel that shares the watchdog's output. @throws when the system cannot start it */
export function startChild({ program, args, env, clock }: ChildOptions): Child {
  const gone = new AbortController();
  const running = Bun.spawn([program, ...args], {
    env: { ...env },
    stdin: "ignore",
    stdout: "inherit",
    stderr: "inherit",
    detached: true,
  });
  let end: string | undefined;
  const ended = running.exited.then(() => {
    end = endOf(running);
    // Remaining processes of its group could block the next peel.
    signalGroup(running.pid, "SIGKILL");
    gone.abort();
  });
  const kill = () => {
    if (end === undefined) signalGroup(running.pid, "SIGKILL");
    return ended;
  };
  return {
    pid: running.pid,
    gone: gone.signal,
    get end() {
      return end;
    },
    async stop(withinMs) {
      if (end !== undefined) return;
      signalGroup(running.pid, "SIGTERM");
      const late = clock.after(withinMs, kill);
      await ended;
      late.cancel();
    },
    kill,
  };
}

function endOf({ exitCode, signalCode }: Bun.Subprocess): string {
  if (signalCode === null) return `code ${exitCode}`;
  const name = Object.entries(constants.signals).find(
    ([word, number]) => signalCode === word || signalCode === number,
  )?.[0];
  return name ?? `signal ${signalCode}`;
}

function signalGroup(leader: number, signal: NodeJS.Signals): void {
  try {
    process.kill(-leader, signal);
  } catch (cause) {
    if (!isErrno(cause, "ESRCH") && !isErrno(cause, "EPERM")) throw cause;
  }
}
