import { unlinkSync } from "node:fs";
import * as v from "valibot";
import { type Clock, sleep } from "../../base/clock.ts";
import { attempt, SvcError } from "../../base/errors.ts";
import { isErrno, readTextIfPresent, secretMode, writeFileAtomic } from "../../base/files/file.ts";
import { writing } from "../../base/files/new-files.ts";
import type { Log } from "../../base/log.ts";
import { executableOf, identityOf, isRunning } from "../../base/process/process-stat.ts";

const pollMs = 50;
/** Timeout for an orphan to exit after SIGTERM, and again after SIGKILL. */
const timeoutMs = 10_000;

const identity = v.object({ pid: v.number(), start: v.string(), boot: v.string() });
const schema = v.object({ server: identity, program: v.string(), master: identity });

/** Records which process is the bus of this master, so that the next master finds it if this one is killed. */
export function recordServer(path: string, server: number, program: string): void {
  const [child, master] = [identityOf(server), identityOf(process.pid)];
  // Without /proc, as on macOS, the process could not be identified later.
  if (child === undefined || master === undefined) return;
  const text = `${JSON.stringify({ server: child, program, master })}\n`;
  writing(path, () => writeFileAtomic(path, text, secretMode));
}

/** Removes the record after the bus has stopped. */
export function forgetServer(path: string): void {
  try {
    unlinkSync(path);
  } catch (cause) {
    if (!isErrno(cause, "ENOENT")) throw cause;
  }
}

/**
 * Stops the bus that a killed master left behind: the exact process in the record, identified by number,
 * start time and executable. It gets SIGTERM, and SIGKILL after 10 seconds.
 *
 * @throws SvcError `conflict` when its master is alive, or when the process does not exit
 */
export async function endOrphan(path: string, clock: Clock, log: Log): Promise<void> {
  const note = readNote(path);
  if (note === undefined) return;
  const { server, program, master } = note;
  if (!isRunning(server)) return forgetServer(path);
  // Unknown while it is being killed.
  const executable = executableOf(server.pid);
  if (executable !== undefined && executable !== program) return forgetServer(path);
  if (isRunning(master)) {
    throw new SvcError(
      "conflict",
      `embedded_bus: another svc-master (process ${master.pid}) runs the bus of ${path}: stop it, or give this one its own embedded_bus_dir`,
    );
  }
  log.warn("ending the bus that a killed master left behind", { pid: server.pid });
  for (const signal of ["SIGTERM", "SIGKILL"] as const) {
    process.kill(server.pid, signal);
    for (let waited = 0; waited < timeoutMs; waited += pollMs) {
      if (!isRunning(server)) return forgetServer(path);
      await sleep(clock, pollMs);
    }
  }
  throw new SvcError("conflict", `embedded_bus: process ${server.pid} does not exit`);
}

function readNote(path: string): v.InferOutput<typeof schema> | undefined {
  return attempt(() => v.parse(schema, JSON.parse(readTextIfPresent(path) ?? "null")));
}
