import { dlopen, type FFIFunction, type Library } from "bun:ffi";

/** The C library under the names that glibc and musl give it. */
const libraries = ["libc.so.6", `libc.musl-${process.arch === "arm64" ? "aarch64" : "x86_64"}.so.1`];

/**
 * Opens the C library for some of its functions; the caller closes it.
 *
 * @returns `undefined` where the C library is not one of Linux
 */
export function openLibc<Functions extends Record<string, FFIFunction>>(
  functions: Functions,
): Library<Functions> | undefined {
  for (const library of libraries) {
    try {
      return dlopen(library, functions);
    } catch {
      // The other name may be the one of this system.
    }
  }
  return undefined;
}
