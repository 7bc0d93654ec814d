import { readFileSync } from "node:fs";
import { attempt } from "../../base/errors.ts";

const tables = ["/proc/net/tcp", "/proc/net/tcp6"];
/** Columns of a table of sockets (proc(5), `/proc/net/tcp`). */
const columns = { local: 1, state: 3, user: 7 };
const listening = "0A";

/**
 * Whether a program of this user listens on a port of this host. While a peel does not run, any user may
 * listen on its port and answer in its place. When the socket tables are hidden from this process, which only
 * the administrator can configure, the result is `true`.
 */
export function isOwnPort(port: number, paths = tables): boolean {
  const known = paths.map(textOf).filter((text) => text !== undefined);
  const user = process.getuid?.() ?? -1;
  return known.length === 0 || known.some((table) => listenersOf(table, port).includes(user));
}

/** The users that listen on a port, from a socket table. */
export function listenersOf(table: string, port: number): number[] {
  return table.split("\n").flatMap((line) => {
    const fields = line.trim().split(/\s+/);
    const local = fields[columns.local]?.split(":")[1] ?? "";
    const isOne = fields[columns.state] === listening && Number.parseInt(local, 16) === port;
    return isOne ? [Number(fields[columns.user])] : [];
  });
}

/** A host without IPv6 has only one table. */
function textOf(path: string): string | undefined {
  return attempt(() => readFileSync(path, "utf8"));
}
