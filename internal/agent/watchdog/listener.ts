import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { attempt } from "../../base/errors.ts";

const tables = ["/proc/net/tcp", "/proc/net/tcp6"];
/** Columns of a table of sockets (proc(5), `/proc/net/tcp`). */
const columns = { local: 1, state: 3, user: 7, inode: 9 };
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

/**
 * Whether only programs other than this process listen on a port: then it cannot open its health port there. What
 * is hidden from this process counts as `false`.
 */
export function isTakenFrom(pid: number, port: number, paths = tables): boolean {
  const inodes = paths.flatMap((path) =>
    rowsOf(textOf(path) ?? "", port).map((fields) => fields[columns.inode] ?? ""),
  );
  if (inodes.length === 0) return false;
  const own = attempt(() => openFilesOf(pid));
  return own !== undefined && !inodes.some((inode) => own.has(`socket:[${inode}]`));
}

function openFilesOf(pid: number): ReadonlySet<string | undefined> {
  const dir = `/proc/${pid}/fd`;
  return new Set(readdirSync(dir).map((name) => attempt(() => readlinkSync(`${dir}/${name}`))));
}

/** The users that listen on a port, from a socket table. */
export function listenersOf(table: string, port: number): number[] {
  return rowsOf(table, port).map((fields) => Number(fields[columns.user]));
}

/** The fields of those rows of a socket table that listen on a port. */
function rowsOf(table: string, port: number): string[][] {
  return table.split("\n").flatMap((line) => {
    const fields = line.trim().split(/\s+/);
    const local = fields[columns.local]?.split(":")[1] ?? "";
    return fields[columns.state] === listening && Number.parseInt(local, 16) === port ? [fields] : [];
  });
}

/** A host without IPv6 has only one table. */
function textOf(path: string): string | undefined {
  return attempt(() => readFileSync(path, "utf8"));
}
