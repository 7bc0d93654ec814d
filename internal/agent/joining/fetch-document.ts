import { describeError, SvcError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { type BootstrapCache, checkDiscovered, parseDocument } from "../../identity/bootstrap/mod.ts";
import type { CommandKeys } from "./command-keys.ts";
import type { MasterClient } from "./master-client.ts";

export interface FetchDocumentOptions {
  masters: MasterClient;
  /** Maximum number of failed requests. */
  attempts: number;
  cache: BootstrapCache;
  commandKeys: CommandKeys;
  log: Log;
}

/**
 * Fetches the bootstrap document over verified TLS, stores its command keys, and caches its bus URLs.
 *
 * @returns the URLs; `undefined` when the list is empty or invalid
 * @throws SvcError `unavailable` when no master serves the document; TrustError
 */
export async function fetchDocument(options: FetchDocumentOptions): Promise<readonly string[] | undefined> {
  const { masters, attempts, cache, commandKeys, log } = options;
  const { status, body } = await masters.request("GET", "/api/v1/enroll/ca", { attempts });
  const document = status === 200 ? parseDocument(body) : undefined;
  if (document === undefined) {
    throw new SvcError("unavailable", `the master does not serve a bootstrap document (status ${status})`);
  }
  commandKeys.replace(document.command_keys);
  try {
    const urls = checkDiscovered("nats_urls of the bootstrap document", document.nats_urls);
    if (urls !== undefined) cache.save(urls);
    return urls;
  } catch (thrown) {
    log.warn("bus URLs refused", { reason: describeError(thrown) });
    return undefined;
  }
}
