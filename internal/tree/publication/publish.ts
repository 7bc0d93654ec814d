import { type Clock, rfc3339 } from "../../base/clock.ts";
import { describeError, SvcError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { sha256Hex } from "../../base/sha256.ts";
import { type BlobStore, type Commit, type Head, openContentStore } from "../../bus/storage/mod.ts";
import type { SignedStatement } from "../files/mod.ts";
import { blobsOf, type Catalog, emptyCatalog, encodeCatalog, type SnapshotOrigin } from "../files/mod.ts";
import { type Encoded, encodeOnce } from "./encode-environment.ts";
import type { Environment } from "./environment.ts";
import type { CatalogView } from "./follow-catalog.ts";
import type { HeadSeal } from "./head-seal.ts";
import { nextCatalog } from "./next-catalog.ts";
import { readCatalog, readPublished, referencedBy } from "./read-published.ts";
import { uploadSnapshots } from "./upload-snapshots.ts";

/** Bytes that nothing refers to stay this long, for peels that are in the middle of fetching them. */
const graceMs = 10 * 60_000;

/** The result of one publication. */
export interface Publication {
  /** Environments whose snapshot in force changed. */
  changed: readonly string[];
  /** Number of uploaded blobs, and their total size in bytes. */
  blobs: number;
  bytes: number;
}

/** What waits for a release. Without it nothing does, and what waited before is removed. */
interface Waiting {
  /** The newest files of environments that wait from now on. */
  offer?: readonly Environment[];
  /** Environments whose candidates stay as they are. */
  waiting?: readonly string[];
  /** Snapshots that are stored and come into force in place of the newest files, by environment. */
  restore?: ReadonlyMap<string, string>;
}

/** A fenced writer of the head: it may publish until a master with a larger token takes over. */
export interface Publisher {
  /** What is published now. */
  readonly catalog: Catalog;
  /** The published environments. */
  environments(): readonly string[];
  /** The origin of an environment's snapshot in force. */
  originOf(environment: string): SnapshotOrigin | undefined;
  /**
   * Publishes exactly these environments; `unchanged` names the ones that keep their snapshot.
   *
   * @param held snapshots that stay readable although newer ones have replaced them
   * @throws SvcError `conflict` when another master took over or a file changed during publication, `storage`
   */
  publish(
    environments: readonly Environment[],
    unchanged?: readonly string[],
    held?: ReadonlySet<string>,
    waiting?: Waiting,
  ): Promise<Publication>;
  /**
   * Removes blobs that have been unreferenced for the grace period. @returns how many blobs. @throws as
   * `publish`
   */
  collect(): Promise<number>;
  /** Whether the head is still the one this publisher wrote. @throws SvcError `storage` */
  holds(): Promise<boolean>;
}

export interface PublisherDeps {
  store: BlobStore;
  seal: HeadSeal;
  /** A catalog in memory: storing an ordinary object `head` removes the catalog that the head named. */
  recall?: CatalogView["recall"] | undefined;
  clock: Clock;
  log: Log;
}

/**
 * Takes over publishing. It first rewrites the head with the fencing token; every later write is a
 * compare-and-swap on the revision. A former holder that resumes after a pause finds another revision, and
 * the server rejects its write. Blobs need no fencing, because they are named by their digests.
 *
 * Every blob that is not part of a snapshot named by the head is uploaded again, even when the store has it.
 * The new upload has another sequence in the stream, so a former holder that still removes garbage, which it
 * does by sequence, cannot remove it.
 *
 * The content of a head is trusted only when a master signed it. Of a forged or replayed head only the
 * revision is used; publishing continues from the last state this master verified.
 *
 * @throws SvcError `conflict` when the head was written with a larger token
 */
export async function takeOverHead(deps: PublisherDeps, token: number): Promise<Publisher> {
  const { store, seal, clock, log } = deps;
  const content = openContentStore(store, graceMs, clock);
  const before = await store.head();
  const genuine = before === undefined ? undefined : checkHead(deps, before);
  if (genuine !== undefined && genuine.token > token) throw lost();
  const found = await catalogOf(deps, genuine ?? seal.newest);
  const sign = (next: Catalog) => signCatalog(seal, token, next);
  let head = sign(found);
  let revision = await moved(content.commit(head, before?.revision ?? 0));

  const listed = await store.list();
  const published = await readPublished(deps, found);
  const { roots, pages } = published;
  const present = new Set([...referencedBy(published)].filter((digest) => listed.has(digest)));
  const encoded: Encoded = new Map();

  const advance = async (next: Catalog) => {
    const to = sign(next);
    revision = await moved(content.commit(to, revision));
    head = to;
    published.catalog = next;
  };
  return {
    get catalog() {
      return published.catalog;
    },
    environments: () => [...published.catalog.environments.keys()],

    originOf(environment) {
      const manifest = published.catalog.environments.get(environment)?.[0]?.manifest;
      return manifest === undefined ? undefined : roots.get(manifest)?.origin;
    },

    async publish(environments, unchanged = [], held = new Set(), more = {}) {
      const { catalog } = published;
      const { offer = [], waiting = [], restore = new Map() } = more;
      const encode = (one: Environment) => ({ ...one, ...encodeOnce(encoded, one) });
      const [brought, offered] = [environments.map(encode), offer.map(encode)];
      const manifests = [...brought, ...offered];
      const sent = await uploadSnapshots(store, present, manifests);
      const { next, changed, gone, isOtherwiseDifferent } = nextCatalog(catalog, {
        ...{ publish: brought, unchanged, restore, offer: offered, waiting, held, now: clock.now() },
      });
      for (const { manifest } of manifests) {
        roots.set(manifest.digest, manifest.root);
        for (const [digest, files] of manifest.pages) pages.set(digest, files.flatMap(blobsOf));
      }
      for (const name of gone) encoded.delete(name);
      if (changed.length + gone.length > 0 || isOtherwiseDifferent) await advance(next);
      if (changed.length + gone.length > 0) {
        log.info("state files published", { environments: changed, gone, ...sent });
      }
      return { changed: [...changed, ...gone], ...sent };
    },

    holds: async () => (await store.head())?.revision === revision,

    async collect() {
      const referenced = referencedBy(published).add(head.digest);
      for (const map of [roots, pages]) {
        for (const digest of map.keys()) if (!referenced.has(digest)) map.delete(digest);
      }
      const removed = await content.collect(referenced, async (doomed) => {
        // Still the holder after the list was made: what a later one uploads has other places than these.
        revision = await moved(content.commit(head, revision));
        for (const digest of doomed.keys()) present.delete(digest);
        return true;
      });
      if (removed > 0) {
        const at = rfc3339(clock.now());
        log.info("state files that nothing refers to were removed", { blobs: removed, at });
      }
      return removed;
    },
  };
}

function signCatalog(seal: HeadSeal, token: number, catalog: Catalog): Commit {
  const data = encodeCatalog(catalog);
  const digest = sha256Hex(data);
  const base = catalog.environments.get("base")?.[0]?.manifest;
  return { digest, data, token, statement: seal.sign({ token, catalog: digest, base }) };
}

/** The catalog that a statement names; an empty one without a statement. */
async function catalogOf(deps: PublisherDeps, known: SignedStatement | undefined): Promise<Catalog> {
  if (known === undefined) return emptyCatalog();
  return deps.recall?.(known.catalog) ?? (await readCatalog(deps, known.catalog)) ?? emptyCatalog();
}

async function moved(moving: Promise<number | undefined>): Promise<number> {
  const revision = await moving;
  if (revision === undefined) throw lost();
  return revision;
}

function lost(): SvcError {
  return new SvcError("conflict", "another master has taken over publishing state files");
}

/** The signed statement of the head; `undefined` when no master signed it, or when a newer one was seen. */
function checkHead({ seal, log }: PublisherDeps, head: Head): SignedStatement | undefined {
  try {
    return seal.check(head);
  } catch (thrown) {
    log.error("state files: the head was not published by a master; publishing again", {
      reason: describeError(thrown),
    });
    return undefined;
  }
}
