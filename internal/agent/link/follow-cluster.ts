import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import type { BootstrapCache } from "../../identity/bootstrap/cache.ts";
import { checkDiscovered, sameServers } from "../../identity/bootstrap/discover.ts";
import type { BootstrapDocument } from "../../identity/bootstrap/document.ts";
import type { CommandKeys } from "../joining/command-keys.ts";
import type { Connection } from "./connection.ts";

export interface FollowOptions {
  connection: Connection;
  /** Whether `bus_url` names the bus: then nobody else does. */
  explicit: boolean;
  cache: BootstrapCache;
  commandKeys: CommandKeys;
  /** Fetches the document over verified TLS and takes its command keys; absent without a master. */
  refresh: (() => Promise<unknown>) | undefined;
  log: Log;
}

/**
 * Follows what the masters say on the bus. Its URLs are used, as the bus may only name other servers whose
 * certificates verify. Its command keys are not: keys that differ are a reason to ask over verified TLS.
 *
 * @returns what takes a document; it rejects when the keys could not be asked for
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
    return checkDiscovered("nats_urls told by the bus", list);
  } catch (thrown) {
    log.warn("bus URLs refused", { reason: describeError(thrown) });
    return undefined;
  }
}
