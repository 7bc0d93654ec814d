import type { Clock, Timer } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { encode } from "../../base/msgpack.ts";
import type { Bucket } from "../../bus/mod.ts";
import { type BootstrapDocument, pinsOf } from "../../identity/bootstrap/mod.ts";
import { decide, isSameAuthority, readStored, type Stance, type Stored } from "./publish-decision.ts";

/** Key of the bucket `secrets` (specification, "Bootstrap document"). */
export const clusterInfoKey = "_cluster_info";

const retryMs = 5_000;
/** Overwrites of one foreign CA within the window, before it is treated as the CA of another live master. */
const maxRestores = 3;
const restoreWindowMs = 10 * 60 * 1000;

export interface PublisherOptions {
  /** The bucket `secrets`. */
  secrets: Bucket;
  document: BootstrapDocument;
  /** The SPKI pin of a certificate in PEM. */
  pinOf: (pem: string) => string;
  clock: Clock;
  log: Log;
}

/** Maintains the bootstrap document of the masters in the bucket. */
export interface Publisher {
  /** Replaces the document that this master publishes. */
  update(document: BootstrapDocument): void;
  /** Resolves when no operation is in progress. */
  settled(): Promise<void>;
  stop(): void;
}

/**
 * Publishes the bootstrap document for the peels, and watches that the stored document is from a master.
 * Every write is a compare-and-swap on the revision, so that masters see each other's writes. Equal content
 * is not written again, except by a master whose roots changed after those of another one.
 */
export function startPublisher(options: PublisherOptions): Publisher {
  const { secrets, clock, log, pinOf } = options;
  let own = options.document;
  let stance: Stance = { speaks: true, defends: false, yields: false };
  let warnedOf: string | undefined;
  let restores = { fingerprint: "", count: 0, since: 0 };
  let stopped = false;
  let due = false;
  let running: Promise<void> | undefined;
  let retry: Timer | undefined;

  const trigger = () => {
    due = true;
    running ??= run().finally(() => {
      running = undefined;
    });
  };
  const run = async () => {
    while (due && !stopped) {
      due = false;
      try {
        await reconcile();
      } catch (cause) {
        log.warn("bootstrap document not published", { error: describeError(cause), retry_in_ms: retryMs });
        checkLater(trigger);
      }
    }
  };
  const reconcile = async (): Promise<void> => {
    const entry = await secrets.get(clusterInfoKey);
    const stored = readStored(entry?.value, pinOf);
    const decision = decide(stored, own, stance);
    switch (decision) {
      case "split":
        return splitFrom(stored);
      case "wait":
        return checkLater(() => {
          stance.yields = false;
          trigger();
        });
      case "restore":
        if (stored.kind === "document" && !mayRestore(stored.document.fingerprint)) return splitFrom(stored);
    }
    if (decision !== "keep") {
      const value = encode(own);
      const revision =
        entry === undefined
          ? await secrets.create(clusterInfoKey, value)
          : await secrets.update(clusterInfoKey, value, entry.revision);
      if (revision === undefined) {
        due = true;
        return;
      }
      report(decision, stored);
    }
    stance = { speaks: false, defends: true, yields: false };
    warnedOf = undefined;
  };
  const checkLater = (check: () => void) => {
    retry?.cancel();
    retry = clock.after(retryMs, check);
  };
  const splitFrom = (stored: Stored) => {
    stance = { speaks: false, defends: false, yields: true };
    const published = stored.kind === "document" ? stored.document.fingerprint : "";
    if (published === warnedOf) return;
    warnedOf = published;
    log.warn("split CA: another root is published, and it stays", {
      published: published || "none (external)",
      own: own.fingerprint || "none (external)",
    });
  };
  const mayRestore = (fingerprint: string): boolean => {
    const now = clock.now();
    if (restores.fingerprint !== fingerprint || now - restores.since > restoreWindowMs) {
      restores = { fingerprint, count: 0, since: now };
    }
    return ++restores.count <= maxRestores;
  };
  const report = (decision: "write" | "restore", stored: Stored) => {
    if (decision === "write") {
      log.info("bootstrap document published", { fingerprint: own.fingerprint, nats_urls: own.nats_urls });
      return;
    }
    log.warn("bootstrap document restored: no master published what was there", {
      found: stored.kind === "document" ? stored.document.fingerprint || "none (external)" : stored.kind,
      fingerprint: own.fingerprint,
    });
  };

  // A change only triggers a check, which reads the value with its revision.
  const watch = secrets.watch(({ key }) => {
    if (key === clusterInfoKey) trigger();
  });
  trigger();
  return {
    update(document) {
      const sameRoot = isSameAuthority(document, own);
      const repeats = stance.repeats === true || pinsOf(document).join() !== pinsOf(own).join();
      own = document;
      const reported = sameRoot ? stance : { defends: false, yields: false };
      stance = { ...reported, speaks: true, repeats };
      if (!sameRoot) warnedOf = undefined;
      trigger();
    },
    async settled() {
      while (running !== undefined) await running;
    },
    stop() {
      stopped = true;
      retry?.cancel();
      watch.stop();
    },
  };
}
