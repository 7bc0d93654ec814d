import type { Clock, Timer } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { encode } from "../../base/msgpack.ts";
import type { Bucket } from "../../bus/storage/mod.ts";
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

/** What a master publishes, and what it thinks of what is published. */
interface Publishing extends PublisherOptions {
  stance: Stance;
  /** The foreign root that was warned of. */
  warnedOf: string | undefined;
  restores: { fingerprint: string; count: number; since: number };
  stopped: boolean;
  /** The bucket must be looked at again. */
  due: boolean;
  running: Promise<void> | undefined;
  retry: Timer | undefined;
}

/**
 * Publishes the bootstrap document for the peels, and watches that the stored document is from a master.
 * Every write is a compare-and-swap on the revision, so that masters see each other's writes. Equal content
 * is not written again, except by a master whose roots changed after those of another one.
 */
export function startPublisher(options: PublisherOptions): Publisher {
  const publishing: Publishing = {
    ...options,
    stance: { speaks: true, defends: false, yields: false },
    restores: { fingerprint: "", count: 0, since: 0 },
    ...{ warnedOf: undefined, stopped: false, due: false, running: undefined, retry: undefined },
  };
  // A change only triggers a check, which reads the value with its revision.
  const watch = options.secrets.watch(({ key }) => {
    if (key === clusterInfoKey) trigger(publishing);
  });
  trigger(publishing);
  return {
    update(document) {
      const { document: before, stance } = publishing;
      const sameRoot = isSameAuthority(document, before);
      const repeats = stance.repeats === true || pinsOf(document).join() !== pinsOf(before).join();
      publishing.document = document;
      const reported = sameRoot ? stance : { defends: false, yields: false };
      publishing.stance = { ...reported, speaks: true, repeats };
      if (!sameRoot) publishing.warnedOf = undefined;
      trigger(publishing);
    },
    async settled() {
      while (publishing.running !== undefined) await publishing.running;
    },
    stop() {
      publishing.stopped = true;
      publishing.retry?.cancel();
      watch.stop();
    },
  };
}

function trigger(publishing: Publishing): void {
  publishing.due = true;
  publishing.running ??= run(publishing).finally(() => {
    publishing.running = undefined;
  });
}

async function run(publishing: Publishing): Promise<void> {
  while (publishing.due && !publishing.stopped) {
    publishing.due = false;
    try {
      await reconcile(publishing);
    } catch (cause) {
      const error = describeError(cause);
      publishing.log.warn("bootstrap document not published", { error, retry_in_ms: retryMs });
      checkLater(publishing, () => trigger(publishing));
    }
  }
}

async function reconcile(publishing: Publishing): Promise<void> {
  const { secrets, document, pinOf } = publishing;
  const entry = await secrets.get(clusterInfoKey);
  const stored = readStored(entry?.value, pinOf);
  const decision = decide(stored, document, publishing.stance);
  switch (decision) {
    case "split":
      return splitFrom(publishing, stored);
    case "wait":
      return checkLater(publishing, () => {
        publishing.stance.yields = false;
        trigger(publishing);
      });
    case "restore":
      if (stored.kind === "document" && !mayRestore(publishing, stored.document.fingerprint)) {
        return splitFrom(publishing, stored);
      }
  }
  if (decision !== "keep") {
    const value = encode(document);
    const revision = await (entry === undefined
      ? secrets.create(clusterInfoKey, value)
      : secrets.update(clusterInfoKey, value, entry.revision));
    if (revision === undefined) {
      publishing.due = true;
      return;
    }
    report(publishing, decision, stored);
  }
  publishing.stance = { speaks: false, defends: true, yields: false };
  publishing.warnedOf = undefined;
}

function checkLater(publishing: Publishing, check: () => void): void {
  publishing.retry?.cancel();
  publishing.retry = publishing.clock.after(retryMs, check);
}

function splitFrom(publishing: Publishing, stored: Stored): void {
  publishing.stance = { speaks: false, defends: false, yields: true };
  const published = stored.kind === "document" ? stored.document.fingerprint : "";
  if (published === publishing.warnedOf) return;
  publishing.warnedOf = published;
  publishing.log.warn("split CA: another root is published, and it stays", {
    published: published || "none (external)",
    own: publishing.document.fingerprint || "none (external)",
  });
}

function mayRestore(publishing: Publishing, fingerprint: string): boolean {
  const now = publishing.clock.now();
  const { restores } = publishing;
  if (restores.fingerprint !== fingerprint || now - restores.since > restoreWindowMs) {
    publishing.restores = { fingerprint, count: 0, since: now };
  }
  return ++publishing.restores.count <= maxRestores;
}

function report({ log, document }: Publishing, decision: "write" | "restore", stored: Stored): void {
  const { fingerprint, nats_urls } = document;
  if (decision === "write") {
    log.info("bootstrap document published", { fingerprint, nats_urls });
    return;
  }
  log.warn("bootstrap document restored: no master published what was there", {
    found: stored.kind === "document" ? stored.document.fingerprint || "none (external)" : stored.kind,
    fingerprint,
  });
}
