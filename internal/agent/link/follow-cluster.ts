import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import {
  type BootstrapCache,
  type BootstrapDocument,
  checkDiscovered,
  sameServers,
} from "../../identity/bootstrap/mod.ts";
import type { CommandKeys } from "../joining/mod.ts";
import type { Connection } from "./connection.ts";

export interface FollowOptions {
  connection: Connection;
  /** Whether `bus_url` is set. It overrides all other sources. */
  explicit: boolean;
  cache: BootstrapCache;
  commandKeys: CommandKeys;
  /** Fetches the document over verified TLS and stores its command keys. Absent without a master. */
  refresh: (() => Promise<unknown>) | undefined;
  log: Log;
}

/**
 * Follows the bootstrap document on the bus. Its URLs are used, because the certificates of those servers are
 * verified. Its command keys are not: if they differ, the keys are fetched over verified TLS.
 *
 * @returns a function that takes a document. It rejects when the keys could not be fetched
 */
export function followCluster(options: FollowOptions): (document: BootstrapDocument) => Promise<void> {
  const { connection, explicit, cache, commandKeys, refresh, log } = options;
  return async (document) => {
    if (!explicit) {
      const urls = accepted(document.nats_urls, log);
      if (urls !== undefined) {
        cache.save(urls);
        if (!sameServers(urls, connection.urls)) await connection.repoint(urls);
      }
    }
    if (refresh !== undefined && commandKeys.differs(document.command_keys)) await refresh();
  };
}

function accepted(list: readonly string[], log: Log): readonly string[] | undefined {
  try {
    return checkDiscovered("nats_urls received from the bus", list);
  } catch (thrown) {
    log.warn("bus URLs refused", { reason: describeError(thrown) });
    return undefined;
  }
}
