import { FFIType, ptr } from "bun:ffi";
import { openLibc } from "../files/libc.ts";

/** A kernel pipe: two file descriptors that child processes do not inherit. */
export interface Pipe {
  read: number;
  write: number;
}

/** O_CLOEXEC on every Linux platform that Bun supports. */
const closeOnExec = 0o2000000;

/**
 * Creates a pipe. The caller closes both ends. Returns `undefined` on systems other than Linux.
 *
 * The pipes of Bun and Node.js are socket pairs. A program that opens `/dev/stdout` or `/dev/stderr` by
 * name, as many shell scripts do, fails on a socket with ENXIO.
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
