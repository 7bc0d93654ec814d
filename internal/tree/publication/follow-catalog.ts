import type { Clock, Timer } from "../../base/clock.ts";
import { describeError, SvcError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { subscribe } from "../../base/subscribe.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import { type BlobStore, type Head, readBlob } from "../../bus/storage/mod.ts";
import { type Catalog, decodeCatalog } from "../files/mod.ts";
import type { HeadSeal } from "./head-seal.ts";

/** The head is polled at this interval, in case an announcement was lost. */
const checkAgainMs = 60_000;
/** After this time servers have agreed on what was announced. */
const agreedAfterMs = 2_000;

/** A catalog published by a master. */
export interface InForce {
  catalog: Catalog;
  /** The statement that the master signed, for peels. */
  statement: Uint8Array;
}

/** A master's view of the published catalog. */
export interface CatalogView {
  /**
   * The current catalog; waits until an announced change is read. `undefined` when nothing is published yet.
   */
  current(): Promise<InForce | undefined>;
  /** The same, read now: an announcement may have been lost. */
  reread(): Promise<InForce | undefined>;
  /** The catalog that was read last. */
  readonly latest: Catalog | undefined;
  /** The catalog with this digest, if it is the last one that was served: the store may have lost it. */
  recall(digest: string): Catalog | undefined;
  /** Calls `run` when the head was not published by a master. @returns a function that unsubscribes */
  onForeign(run: () => void): () => void;
  stop(): void;
}

/**
 * Follows the head of the store. A head that no master published is not served; the previous catalog stays in
 * force.
 */
export function followCatalog(options: {
  store: Pick<BlobStore, "get" | "head" | "onHead">;
  seal: Pick<HeadSeal, "check" | "newest">;
  bus: Pick<Bus, "onReconnect">;
  clock: Clock;
  log: Log;
}): CatalogView {
  const { store, seal, bus, clock, log } = options;
  const listeners = new Set<() => void>();
  let inForce: InForce | undefined;
  let seen: Head | undefined;
  let refused: Head | undefined;
  const isGenuine = (head: Head): boolean => {
    try {
      seal.check(head);
      return true;
    } catch (thrown) {
      if (!Bun.deepEquals(head, refused)) {
        log.error("state files: the head was not published by a master and is not served", {
          revision: head.revision,
          reason: describeError(thrown),
        });
      }
      refused = head;
      return false;
    }
  };
  let refreshing: Promise<void> = Promise.resolve();
  const refresh = async () => {
    try {
      const head = await store.head();
      if (head === undefined ? seal.newest !== undefined : !isGenuine(head)) {
        for (const run of listeners) run();
        return;
      }
      if (head?.digest === undefined || head.statement === undefined || Bun.deepEquals(head, seen)) return;
      const data = await readBlob(store, head.digest);
      if (data === undefined) {
        throw new SvcError("storage", "the catalog of state files is damaged or not there");
      }
      inForce = { catalog: decodeCatalog(data), statement: head.statement };
      seen = head;
    } catch (thrown) {
      log.warn("state files: the catalog cannot be read", { reason: describeError(thrown) });
    }
  };
  const start = () => {
    refreshing = refreshing.then(refresh);
  };
  start();
  // The announcement may be faster than the servers of a cluster agree: a read at once still finds the previous head.
  let again: Timer | undefined;
  const unsubscribe = store.onHead(() => {
    start();
    again?.cancel();
    again = clock.after(agreedAfterMs, start);
  });
  const forget = bus.onReconnect(start);
  const timer = clock.every(checkAgainMs, start);
  const current = () => refreshing.then(() => inForce);
  return {
    current,
    reread() {
      start();
      return current();
    },
    get latest() {
      return inForce?.catalog;
    },
    recall: (digest) => (seen?.digest === digest ? inForce?.catalog : undefined),
    onForeign: (run) => subscribe(listeners, run),
    stop() {
      unsubscribe();
      forget();
      timer.cancel();
      again?.cancel();
    },
  };
}
