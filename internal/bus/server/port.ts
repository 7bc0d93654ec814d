import { createServer } from "node:net";
import { SvcError } from "../../base/errors.ts";
import { reasonOf } from "../../base/files/file.ts";
import { type Address, formatAddress, parseAddress } from "../../base/names/address.ts";

/** The listen address in this configuration; `undefined` when it is not in the usual form. */
export function listenAddressOf(configuration: string): Address | undefined {
  const [, text] = /^listen\s*[:=]\s*"?([^"\s]+)"?\s*$/m.exec(configuration) ?? [];
  return text === undefined ? undefined : parseAddress(text);
}

/**
 * Checks that no process listens on the address. A server that finds a conflict by itself has already
 * opened its storage, which may be the storage of the running server.
 *
 * @throws SvcError `conflict`
 */
export async function assertFree(address: Address): Promise<void> {
  const server = createServer();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject);
  server.listen({ host: address.host, port: address.port }, resolve);
  try {
    await promise;
  } catch (cause) {
    throw new SvcError(
      "conflict",
      `embedded_bus: the bus cannot listen on ${formatAddress(address)}: ${reasonOf(cause)}; stop that program, or turn embedded_bus off to use it`,
    );
  }
  await new Promise<void>((closed) => server.close(() => closed()));
}

/** A port of the loopback address that is free now. */
export async function freePort(): Promise<number> {
  const server = createServer();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  server.once("error", reject);
  server.listen({ host: "127.0.0.1", port: 0 }, resolve);
  await promise;
  const address = server.address();
  await new Promise<void>((closed) => server.close(() => closed()));
  return typeof address === "object" && address !== null ? address.port : 0;
}
