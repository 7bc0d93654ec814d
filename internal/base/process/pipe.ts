import { dlopen, FFIType, ptr } from "bun:ffi";

/** A kernel pipe: two file descriptors that child processes do not inherit. */
export interface Pipe {
  read: number;
  write: number;
}

/** O_CLOEXEC on every Linux platform that Bun supports. */
const closeOnExec = 0o2000000;

/** The C library under the names that glibc and musl give it. */
const libraries = ["libc.so.6", `libc.musl-${process.arch === "arm64" ? "aarch64" : "x86_64"}.so.1`];

/**
 * Creates a pipe. The caller closes both ends. Returns `undefined` on systems other than Linux.
 *
 * The pipes of Bun and Node.js are socket pairs. A program that opens `/dev/stdout` or `/dev/stderr` by
 * name, as many shell scripts do, fails on a socket with ENXIO.
 */
export function openPipe(): Pipe | undefined {
  for (const library of libraries) {
    const descriptors = callPipe(library);
    if (descriptors !== undefined) return descriptors;
  }
  return undefined;
}

function callPipe(library: string): Pipe | undefined {
  let loaded: ReturnType<typeof load>;
  try {
    loaded = load(library);
  } catch {
    return undefined;
  }
  const descriptors = new Int32Array(2);
  const failed = loaded.symbols.pipe2(ptr(descriptors), closeOnExec) !== 0;
  loaded.close();
  const [read, write] = descriptors;
  if (failed || read === undefined || write === undefined) return undefined;
  return { read, write };
}

function load(library: string) {
  return dlopen(library, { pipe2: { args: [FFIType.ptr, FFIType.i32], returns: FFIType.i32 } });
}
