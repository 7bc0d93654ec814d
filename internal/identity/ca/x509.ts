import type * as X509 from "@peculiar/x509";

/**
 * The certificate library, loaded when the first certificate is made: it costs 20 ms that a command
 * without certificates need not pay.
 *
 * The polyfill must have run before the library does, so the two are awaited in this order; static
 * imports in a chunk that is itself loaded lazily lose that order in a compiled binary.
 */
export async function loadX509(): Promise<typeof X509> {
  await import("reflect-metadata");
  return import("@peculiar/x509");
}
