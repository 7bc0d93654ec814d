import { closeSync, constants, fstatSync, openSync, type Stats } from "node:fs";
import { SvcError } from "../../base/errors.ts";
import { reasonOf } from "../../base/files/file.ts";
import { findAccount, findGroup } from "../../base/process/account.ts";
import type { CallContext } from "./function.ts";

/** Owner and group of a file; `undefined` leaves them unchanged. */
export interface Owner {
  uid: number | undefined;
  gid: number | undefined;
}

/** A path for system calls, without a trailing slash, which would follow a symbolic link. */
export function trimmed(path: string): string {
  return path.replace(/\/+$/, "") || "/";
}

/**
 * Runs a file operation; an error of the system names the file.
 *
 * @param what `read`, as in "cannot read /etc/shadow: permission denied"
 * @throws SvcError `storage`
 */
export async function touching<Value>(what: string, path: string, run: () => Promise<Value> | Value) {
  try {
    return await run();
  } catch (cause) {
    if (cause instanceof SvcError || !(cause instanceof Error) || !("code" in cause)) throw cause;
    throw new SvcError("storage", `cannot ${what} ${path}: ${reasonOf(cause)}`, { cause });
  }
}

/**
 * Opens a regular file, passes its descriptor to `run`, and closes it. Never blocks, as opening a named pipe
 * would.
 *
 * @throws SvcError `bad_request` when it is not a regular file
 */
export async function withRegularFile<Value>(
  path: string,
  flags: number,
  run: (file: number, stats: Stats) => Promise<Value> | Value,
): Promise<Value> {
  const file = openSync(path, flags | constants.O_NONBLOCK);
  return withOpenFile(path, file, (stats) => run(file, stats));
}

/** Same as `withRegularFile`, for a file that is already open. */
export async function withOpenFile<Value>(
  path: string,
  file: number,
  run: (stats: Stats) => Promise<Value> | Value,
): Promise<Value> {
  try {
    const stats = fstatSync(file);
    if (!stats.isFile()) throw new SvcError("bad_request", `${path} is not a regular file`);
    return await run(stats);
  } finally {
    closeSync(file);
  }
}

/** Looks up the ids of a call's `user` and `group`. @throws SvcError `not_found` */
export async function ownerOf(
  { user, group }: { user: string | undefined; group: string | undefined },
  { clock, signal }: CallContext,
): Promise<Owner> {
  return {
    uid: user === undefined ? undefined : (await findAccount(user, { clock, signal })).uid,
    gid: group === undefined ? undefined : (await findGroup(group, { clock, signal })).gid,
  };
}

/** Permission bits of a validated `mode`. */
export function modeBits(mode: string): number {
  return Number.parseInt(mode, 8);
}
