import { FFIType, ptr } from "bun:ffi";
import { openLibc } from "../libc.ts";

/** A pipe of the kernel: two file descriptors that no child process inherits by itself. */
export interface Pipe {
  read: number;
  write: number;
}

/** O_CLOEXEC of every Linux platform that Bun runs on. */
const closeOnExec = 0o2000000;

/**
 * Makes a pipe; the caller closes both ends. `undefined` where the C library is not one of Linux.
 *
 * What Bun and Node.js call a pipe is a socket pair, and a program that opens `/dev/stdout` or
 * `/dev/stderr` by name, as many shell scripts do, fails on a socket with ENXIO.
 */
export function openPipe(): Pipe | undefined {
  const libc = openLibc({ pipe2: { args: [FFIType.ptr, FFIType.i32], returns: FFIType.i32 } });
  if (libc === undefined) return undefined;
  const descriptors = new Int32Array(2);
  const failed = libc.symbols.pipe2(ptr(descriptors), closeOnExec) !== 0;
  libc.close();
  const [read, write] = descriptors;
  if (failed || read === undefined || write === undefined) return undefined;
  return { read, write };
}
