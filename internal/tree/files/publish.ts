import { type Clock, rfc3339 } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { describeError, SvcError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { sha256Hex } from "../../base/sha256.ts";
import { type BlobStore, type Commit, type Head, openContentStore } from "../../bus/storage/mod.ts";
import { type Catalog, encodeCatalog, keptSnapshots, type Published } from "./catalog.ts";
import type { Contents } from "./contents.ts";
import type { CatalogView } from "./follow-catalog.ts";
import type { HeadSeal } from "./head-seal.ts";
import { blobsOf, type EncodedManifest, encodeManifest, maxFiles, type SnapshotOrigin } from "./manifest.ts";
import { readCatalog, readPublished, referencedBy } from "./read-published.ts";
import type { SignedStatement } from "./statement.ts";
import { uploadSnapshots } from "./upload-snapshots.ts";

/** Bytes that nothing refers to stay this long, for peels that are in the middle of fetching them. */
const graceMs = 10 * 60_000;

/** An environment to publish. */
export interface Environment {
  name: string;
  origin: SnapshotOrigin;
  files: Contents;
}

/** The result of one publication. */
export interface Publication {
  /** Environments whose snapshot in force changed. */
  changed: readonly string[];
  /** Number of uploaded blobs, and their total size in bytes. */
  blobs: number;
  bytes: number;
}

/** A fenced writer of the head: it may publish until a master with a larger token takes over. */
export interface Publisher {
  /** The published environments. */
  environments(): readonly string[];
  /** The origin of an environment's snapshot in force. */
  originOf(environment: string): SnapshotOrigin | undefined;
  /**
   * Publishes exactly these environments; `unchanged` names the ones that keep their snapshot.
   *
   * @throws SvcError `conflict` when another master took over or a file changed during publication, `storage`
   */
  publish(environments: readonly Environment[], unchanged?: readonly string[]): Promise<Publication>;
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
  const sign = (next: Catalog): Commit => {
    const data = encodeCatalog(next);
    const digest = sha256Hex(data);
    const statement = seal.sign({ token, catalog: digest, base: next.get("base")?.[0]?.manifest });
    return { digest, data, token, statement };
  };
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
    environments: () => [...published.catalog.keys()],

    originOf(environment) {
      const manifest = published.catalog.get(environment)?.[0]?.manifest;
      return manifest === undefined ? undefined : roots.get(manifest)?.origin;
    },

    async publish(environments, unchanged = []) {
      const { catalog } = published;
      const manifests = environments.map((environment) => ({
        name: environment.name,
        files: environment.files,
        manifest: encodeOnce(encoded, environment),
      }));
      const sent = await uploadSnapshots(store, present, manifests);
      const { next, changed, gone } = nextCatalog(catalog, manifests, unchanged);
      for (const { manifest } of manifests) {
        roots.set(manifest.digest, manifest.root);
        for (const [digest, files] of manifest.pages) pages.set(digest, files.flatMap(blobsOf));
      }
      for (const name of gone) encoded.delete(name);
      if (changed.length + gone.length > 0) {
        await advance(next);
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

/** The catalog that a statement names; an empty one without a statement. */
async function catalogOf(deps: PublisherDeps, known: SignedStatement | undefined): Promise<Catalog> {
  if (known === undefined) return new Map();
  return deps.recall?.(known.catalog) ?? (await readCatalog(deps, known.catalog)) ?? new Map();
}

/** The manifests of environments as they were published last. */
type Encoded = Map<string, { files: Contents; manifest: EncodedManifest }>;

/** @throws SvcError `too_large` */
function encodeOnce(encoded: Encoded, { name, origin, files }: Environment): EncodedManifest {
  const last = encoded.get(name);
  if (last?.files === files && Bun.deepEquals(last.manifest.root.origin, origin)) return last.manifest;
  const manifest = encodeEnvironment({ name, origin, files });
  encoded.set(name, { files, manifest });
  return manifest;
}

/** The catalog with these environments, and what changes with it. @param unchanged environments that stay */
function nextCatalog(
  catalog: Catalog,
  manifests: readonly { name: string; manifest: EncodedManifest }[],
  unchanged: readonly string[],
): { next: Map<string, readonly Published[]>; changed: string[]; gone: string[] } {
  const next = new Map<string, readonly Published[]>();
  const changed: string[] = [];
  for (const name of unchanged) {
    const list = catalog.get(name);
    if (list !== undefined) next.set(name, list);
  }
  for (const { name, manifest } of manifests) {
    const list = catalog.get(name) ?? [];
    if (list[0]?.manifest === manifest.digest) {
      next.set(name, list);
      continue;
    }
    changed.push(name);
    const commits = manifest.root.origin.commits.map(({ commit }) => commit);
    const older = list.filter((item) => item.manifest !== manifest.digest);
    next.set(name, [{ manifest: manifest.digest, commits }, ...older].slice(0, keptSnapshots));
  }
  return { next, changed, gone: [...catalog.keys()].filter((name) => !next.has(name)) };
}

/** Describes an environment. @throws SvcError `too_large` */
function encodeEnvironment({ name, origin, files }: Environment): EncodedManifest {
  if (files.size > maxFiles) {
    throw new SvcError("too_large", `the environment ${name} has more than ${maxFiles} files`);
  }
  const sorted = [...files]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([path, { digest, size, executable, blobs }]) => ({
      path,
      digest,
      size,
      executable,
      ...defined({ blobs }),
    }));
  return encodeManifest({ environment: name, origin, files: sorted });
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
