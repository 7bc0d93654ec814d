import type { Clock } from "../base/clock.ts";
import { describeError, SvcError } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import type { BlobStore } from "../bus/blob-store.ts";
import type { Bus } from "../bus/connect.ts";
import { type Catalog, decodeCatalog } from "./catalog.ts";
import { digestOf } from "./manifest.ts";

/** The head is looked at in any case, should its announcement have been lost. */
const lookAgainMs = 60_000;

/** What is published, as a master sees it. */
export interface CatalogView {
  /** The catalog of now: a change that was announced is waited for. `undefined` when there is none yet. */
  current(): Promise<Catalog | undefined>;
  stop(): void;
}

/** Follows the head of the store. */
export function followCatalog(options: {
  store: Pick<BlobStore, "get" | "head" | "onHead">;
  bus: Pick<Bus, "onReconnect">;
  clock: Clock;
  log: Log;
}): CatalogView {
  const { store, bus, clock, log } = options;
  let catalog: Catalog | undefined;
  let seen: string | undefined;
  let refreshing: Promise<void> = Promise.resolve();
  const refresh = async () => {
    try {
      const head = await store.head();
      if (head === undefined || head.digest === seen) return;
      const data = await store.get(head.digest);
      if (data === undefined || digestOf(data) !== head.digest) {
        throw new SvcError("storage", "the catalog of state files is damaged or not there");
      }
      catalog = decodeCatalog(data);
      seen = head.digest;
    } catch (thrown) {
      log.warn("state files: the catalog was not read", { reason: describeError(thrown) });
    }
  };
  const start = () => {
    refreshing = refreshing.then(refresh);
  };
  start();
  const unsubscribe = store.onHead(start);
  const forget = bus.onReconnect(start);
  const timer = clock.every(lookAgainMs, start);
  return {
    async current() {
      await refreshing;
      return catalog;
    },
    stop() {
      unsubscribe();
      forget();
      timer.cancel();
    },
  };
}
