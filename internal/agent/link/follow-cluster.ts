import { describeError, SvcError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import {
  type BootstrapCache,
  type BootstrapDocument,
  checkDiscovered,
  pinsOf,
  sameServers,
  urlsFor,
} from "../../identity/bootstrap/mod.ts";
import type { CommandKeys, RecoveryKeys, Roots } from "../trust/mod.ts";
import type { Connection } from "./connection.ts";

export interface FollowOptions {
  connection: Connection;
  /** Whether `bus_url` is set. It overrides all other sources. */
  explicit: boolean;
  cache: BootstrapCache;
  /** The site of this peel. */
  site(): string | undefined;
  commandKeys: CommandKeys;
  recoveryKeys: Pick<RecoveryKeys, "lacks">;
  roots: Pick<Roots, "differs">;
  /** Fetches the document over verified TLS and stores its command keys and roots. Absent without a master. */
  refresh: (() => Promise<{ pins: readonly string[]; again: boolean }>) | undefined;
  log: Log;
}

/**
 * Follows the bootstrap document on the bus. Its URLs are used, because the certificates of those servers are
 * verified. Its command keys and roots are not: if they differ, they are fetched over verified TLS. Where a master
 * there does not have them yet, the peel asks again later.
 *
 * @returns a function that takes a document. It rejects when keys or roots could not be fetched, or still differ
 */
export function followCluster(options: FollowOptions): (document: BootstrapDocument) => Promise<void> {
  const { connection, explicit, cache, site, commandKeys, recoveryKeys, roots, refresh, log } = options;
  return async (document) => {
    if (!explicit) {
      const listed = urlsFor(document, site());
      const urls = accepted(listed.urls, log);
      if (urls !== undefined) {
        cache.save(urls, listed.ofSite);
        if (!sameServers(urls, connection.urls)) await connection.repoint(urls);
      }
    }
    if (refresh === undefined) return;
    const isNews =
      commandKeys.differs(document.command_keys) ||
      recoveryKeys.lacks(document.recovery_keys) ||
      roots.differs(document);
    if (!isNews) return;
    const { pins, again } = await refresh();
    if (again)
      throw new SvcError("unavailable", "the next root is signed by a command key that was just learned");
    if (commandKeys.differs(document.command_keys)) {
      throw new SvcError(
        "unavailable",
        "the masters on the bus name other command keys than the master that this peel asks over HTTPS",
      );
    }
    // That master has not noticed the phase of a rotation yet. Nobody may notify this peel when it does.
    if (pins.join() !== pinsOf(document).join() && roots.differs(document)) {
      throw new SvcError(
        "unavailable",
        "the masters on the bus name other roots than the master that this peel asks over HTTPS",
      );
    }
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
