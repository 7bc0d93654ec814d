import { randomInt } from "node:crypto";
import { closeSync, mkdirSync, openSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { isErrno } from "../../internal/base/files/file.ts";

// The system gives ports from 32768 on to connections (ip_local_port_range). A program that is started again on
// a port from there finds it taken, now and then, by a connection of any other program.
const first = 10_000;
const end = 32_768;

const { TEST_RUN_DIR: runDirectory } = process.env;
const reserve = createReservation(runDirectory === undefined ? undefined : join(runDirectory, "ports"));

/**
 * Finds unused ports that no connection of another program takes, for programs that start, and start again. A run
 * gives each of them once: one whose program has not started yet looks unused.
 */
export async function freePorts(count: number): Promise<number[]> {
  const found: number[] = [];
  while (found.length < count) {
    const port = randomInt(first, end);
    if (reserve(port) && (await isFree(port))) found.push(port);
  }
  return found;
}

/**
 * @param directory that all processes of a run share; without one, only this process is kept from a second use
 * @returns whether a port was not reserved before; then it is from now on
 */
export function createReservation(directory: string | undefined): (port: number) => boolean {
  const reserved = new Set<number>();
  if (directory !== undefined) mkdirSync(directory, { recursive: true, mode: 0o700 });
  return (port) => {
    if (reserved.has(port)) return false;
    reserved.add(port);
    return directory === undefined || createFile(join(directory, `${port}`));
  };
}

/** @returns whether the file was not there */
function createFile(path: string): boolean {
  try {
    closeSync(openSync(path, "wx", 0o600));
    return true;
  } catch (thrown) {
    if (isErrno(thrown, "EEXIST")) return false;
    throw thrown;
  }
}

function isFree(port: number): Promise<boolean> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once("error", () => resolve(false));
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}
