import { closeSync, existsSync, openSync, readdirSync, readlinkSync, readSync } from "node:fs";
import { statfs } from "node:fs/promises";
import * as os from "node:os";
import { attempt } from "../../base/errors.ts";
import { isErrno } from "../../base/files/file.ts";

/** Sufficient for all files except very large routing tables, which are truncated. */
const maxReadBytes = 4 * 1024 * 1024;

/** The interface between collectors and the host, which tests can replace. */
export interface Host {
  /** `linux`, `darwin`, ... */
  platform: string;
  /** The fully qualified domain name, if it is known. */
  hostname: string;
  uname: {
    type: string;
    release: string;
    version: string;
    machine: string;
    /** The name that the kernel has. */
    nodename: string;
  };
  /** Uid and gid of this process, where the system has them. */
  user: { uid: number; gid: number } | undefined;
  env: Readonly<Record<string, string | undefined>>;
  /** Addresses of active interfaces. */
  interfaces(): Readonly<Record<string, readonly InterfaceAddress[]>>;
  /** Values of the runtime, for systems without /proc. */
  cpus(): readonly { model: string }[];
  /** Bytes. */
  totalMemory(): number;
  /** Text of a file, at most 4 MiB; `undefined` when it does not exist. @throws when it cannot be read */
  read(path: string): string | undefined;
  /** Sorted names in a directory; empty when it does not exist. @throws when it cannot be read */
  list(path: string): string[];
  exists(path: string): boolean;
  /** Target of a symbolic link; `undefined` when it is not a link. */
  linkTarget(path: string): string | undefined;
  /** Size of the file system at a mount point, in bytes. */
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
    uname: {
      ...{ type: os.type(), release: os.release(), version: os.version(), machine: os.machine() },
      nodename: os.hostname(),
    },
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
      return attempt(() => readlinkSync(path));
    },
    async fileSystemSize(path) {
      const { blocks, bsize } = await statfs(path);
      return blocks * bsize;
    },
  };
}

/** Files in /proc report no size, so they are read until the end. */
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
