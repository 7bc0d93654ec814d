import { createServer } from "node:net";
import { type Address, formatAddress, parseAddress } from "../../base/address.ts";
import { SvcError } from "../../base/errors.ts";
import { reasonOf } from "../../base/file.ts";

/** Where a server with this configuration listens; `undefined` when it is not said in the usual form. */
export function listenAddressOf(configuration: string): Address | undefined {
  const [, text] = /^listen\s*[:=]\s*"?([^"\s]+)"?\s*$/m.exec(configuration) ?? [];
  return text === undefined ? undefined : parseAddress(text);
}

/**
 * Makes sure that nobody listens there. A server that only finds out by itself has opened its storage by
 * then, which may be the storage of the one that is running.
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
      `embedded_bus: the bus cannot listen on ${formatAddress(address)}: ${reasonOf(cause)}; stop it, or turn embedded_bus off to use it`,
    );
  }
  await new Promise<void>((closed) => server.close(() => closed()));
}
