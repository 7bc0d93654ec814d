import { readFileSync } from "node:fs";

const tables = ["/proc/net/tcp", "/proc/net/tcp6"];
/** Columns of a table of sockets (proc(5), `/proc/net/tcp`). */
const columns = { local: 1, state: 3, user: 7 };
const listening = "0A";

/**
 * Whether a program of this user listens on a port of this host. Any user may listen on the port of a peel that
 * does not run, and answer in its place.
 */
export function isOwnPort(port: number): boolean {
  return tables.some((path) => listenersOf(textOf(path), port).includes(process.getuid?.() ?? -1));
}

/** The users that listen on a port, from a table of sockets. */
export function listenersOf(table: string, port: number): number[] {
  return table.split("\n").flatMap((line) => {
    const fields = line.trim().split(/\s+/);
    const local = fields[columns.local]?.split(":")[1] ?? "";
    const isOne = fields[columns.state] === listening && Number.parseInt(local, 16) === port;
    return isOne ? [Number(fields[columns.user])] : [];
  });
}

/** A host without IPv6 has one table. */
function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
