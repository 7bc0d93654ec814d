import { closeSync, openSync } from "node:fs";
import { secretMode } from "./file.ts";
import { openLibc } from "./libc.ts";

const exclusive = 2;
const withoutWaiting = 4;

/**
 * Locks a file for this process, and creates it when it is missing. The system releases the lock when the process
 * ends, however it ends.
 *
 * @returns `undefined` when another process holds the lock
 */
export function lockFile(path: string): { release(): void } | undefined {
  const file = openSync(path, "a", secretMode);
  const release = () => closeSync(file);
  const libc = openLibc({ flock: { args: ["i32", "i32"], returns: "i32" } });
  // Without the system call there is no lock, as on a system that is not Linux.
  if (libc === undefined) return { release };
  try {
    if (libc.symbols.flock(file, exclusive | withoutWaiting) === 0) return { release };
  } finally {
    libc.close();
  }
  release();
  return undefined;
}
