import type * as X509 from "@peculiar/x509";

/**
 * Loads the certificate library on first use: loading takes 20 ms, which commands without certificates
 * do not need.
 *
 * The polyfill must run before the library, so they are awaited in this order. In a compiled binary, static
 * imports in a lazily loaded chunk would lose that order.
 */
export async function loadX509(): Promise<typeof X509> {
  await import("reflect-metadata");
  return import("@peculiar/x509");
}
