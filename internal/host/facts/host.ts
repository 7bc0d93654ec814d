import { closeSync, existsSync, openSync, readdirSync, readlinkSync, readSync } from "node:fs";
import { statfs } from "node:fs/promises";
import * as os from "node:os";
import { isErrno } from "../../base/file.ts";

/** Enough for every file that is read whole; a routing table of a backbone is cut. */
const maxReadBytes = 4 * 1024 * 1024;

/** What the collectors see of the host, so that a test can show them another one. */
export interface Host {
  /** `linux`, `darwin`, ... */
  platform: string;
  /** The fully qualified name, as far as it is known. */
  hostname: string;
  uname: { type: string; release: string; version: string; machine: string };
  /** Numbers of the user that this process runs as, where the system has them. */
  user: { uid: number; gid: number } | undefined;
  env: Readonly<Record<string, string | undefined>>;
  /** Addresses of the interfaces that are up. */
  interfaces(): Readonly<Record<string, readonly InterfaceAddress[]>>;
  /** What the runtime knows where there is no /proc. */
  cpus(): readonly { model: string }[];
  /** Bytes. */
  totalMemory(): number;
  /** Text of a file, at most 4 MiB; `undefined` when there is none. @throws when it cannot be read */
  read(path: string): string | undefined;
  /** Names in a directory, sorted; none when there is no such directory. @throws when it cannot be read */
  list(path: string): string[];
  exists(path: string): boolean;
  /** Where a symbolic link points; `undefined` when it is none. */
  linkTarget(path: string): string | undefined;
  /** Size of the file system that is mounted there, in bytes. */
  fileSystemSize(path: string): Promise<number>;
}

export interface InterfaceAddress {
  address: string;
  family: "IPv4" | "IPv6";
  mac: string;
}

/** The host this program runs on. */
export function systemHost(hostname: string, env: Host["env"]): Host {
  return {
    platform: os.platform(),
    hostname,
    uname: { type: os.type(), release: os.release(), version: os.version(), machine: os.machine() },
    user:
      process.getuid === undefined || process.getgid === undefined
        ? undefined
        : { uid: process.getuid(), gid: process.getgid() },
    env,
    interfaces: () =>
      Object.fromEntries(Object.entries(os.networkInterfaces()).map(([name, list]) => [name, list ?? []])),
    cpus: os.cpus,
    totalMemory: os.totalmem,
    read: (path) => ifPresent(() => readBounded(path)),
    list: (path) => ifPresent(() => readdirSync(path))?.sort() ?? [],
    exists: existsSync,
    linkTarget(path) {
      try {
        return readlinkSync(path);
      } catch {
        return undefined;
      }
    },
    async fileSystemSize(path) {
      const { blocks, bsize } = await statfs(path);
      return blocks * bsize;
    },
  };
}

/** Files of /proc tell no size, so they are read until they end. */
function readBounded(path: string): string {
  const file = openSync(path, "r");
  try {
    const chunks: Buffer[] = [];
    for (let total = 0; total < maxReadBytes; ) {
      const chunk = Buffer.alloc(64 * 1024);
      const count = readSync(file, chunk);
      if (count === 0) break;
      chunks.push(chunk.subarray(0, count));
      total += count;
    }
    return Buffer.concat(chunks).toString("utf8");
  } finally {
    closeSync(file);
  }
}

function ifPresent<Value>(read: () => Value): Value | undefined {
  try {
    return read();
  } catch (cause) {
    if (isErrno(cause, "ENOENT") || isErrno(cause, "ENOTDIR")) return undefined;
    throw cause;
  }
}
