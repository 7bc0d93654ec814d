import { type Clock, rfc3339 } from "../../base/clock.ts";
import { describeError, SvcError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { sha256Hex } from "../../base/sha256.ts";
import type { BlobStore, Head } from "../../bus/blob-store.ts";
import { type Commit, openContentStore } from "../../bus/content-store.ts";
import { type Catalog, encodeCatalog, keptSnapshots, type Published } from "./catalog.ts";
import type { Contents } from "./contents.ts";
import type { HeadSeal } from "./head-seal.ts";
import { blobsOf, type EncodedManifest, encodeManifest, maxFiles, type SnapshotOrigin } from "./manifest.ts";
import { readCatalog, readPublished, referencedBy } from "./read-published.ts";
import type { SignedStatement } from "./statement.ts";
import { uploadSnapshots } from "./upload-snapshots.ts";

/** Bytes that nothing refers to stay this long, for peels that are in the middle of fetching them. */
const graceMs = 10 * 60_000;

/** An environment as it is to be published. */
export interface Environment {
  name: string;
  origin: SnapshotOrigin;
  files: Contents;
}

/** What one publication did. */
export interface Publication {
  /** Environments with another snapshot in force than before. */
  changed: readonly string[];
  /** Blobs that travelled, and their bytes. */
  blobs: number;
  bytes: number;
}

/** The right to publish, until somebody with a larger token takes it. */
export interface Publisher {
  /** The environments that are published. */
  environments(): readonly string[];
  /** Where the snapshot in force of an environment came from. */
  originOf(environment: string): SnapshotOrigin | undefined;
  /**
   * Publishes exactly these environments; one that is to stay as it is is named in `unchanged`.
   *
   * @throws SvcError `conflict` when another master publishes or a file changed meanwhile, `storage`
   */
  publish(environments: readonly Environment[], unchanged?: readonly string[]): Promise<Publication>;
  /** Removes what nothing has referred to for a while. @returns how many blobs. @throws as `publish` */
  collect(): Promise<number>;
  /** Whether the head is still as this publisher wrote it. @throws SvcError `storage` */
  holds(): Promise<boolean>;
}

export interface PublisherDeps {
  store: BlobStore;
  seal: HeadSeal;
  clock: Clock;
  log: Log;
}

/**
 * Takes publishing over. The head is first rewritten with the token, and every later write of it is a
 * compare-and-swap on its revision: a holder that was paused and goes on meets a head that is not the one
 * it left, and the server refuses it. Blobs need no such fence, as their names are their digests.
 *
 * Whatever is not part of a snapshot that the head names is uploaded anew, also when the store has it: its
 * place in the stream is another one then, so that a former holder that still removes garbage, which it
 * does by place, cannot remove it.
 *
 * What a head says counts only when a master signed it. Of one that somebody else made, or brought back, the
 * revision alone is used, and what this master last knew to be genuine is built upon.
 *
 * @throws SvcError `conflict` when a holder with a larger token was there before
 */
export async function takeOverHead(deps: PublisherDeps, token: number): Promise<Publisher> {
  const { store, seal, clock, log } = deps;
  const content = openContentStore(store, graceMs, clock);
  const before = await store.head();
  const genuine = before === undefined ? undefined : checkHead(deps, before);
  if (genuine !== undefined && genuine.token > token) throw lost();
  const known = genuine ?? seal.newest;
  const found: Catalog =
    (known === undefined ? undefined : await readCatalog(deps, known.catalog)) ?? new Map();
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
  const encoded = new Map<string, { files: Contents; manifest: EncodedManifest }>();

  const advance = async (next: Catalog) => {
    const to = sign(next);
    revision = await moved(content.commit(to, revision));
    head = to;
    published.catalog = next;
  };
  const encodeOnce = ({ name, origin, files }: Environment): EncodedManifest => {
    const last = encoded.get(name);
    if (last?.files === files && Bun.deepEquals(last.manifest.root.origin, origin)) return last.manifest;
    const manifest = encodeEnvironment({ name, origin, files });
    encoded.set(name, { files, manifest });
    return manifest;
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
        manifest: encodeOnce(environment),
      }));
      const sent = await uploadSnapshots(store, present, manifests);
      const next = new Map<string, readonly Published[]>();
      for (const name of unchanged) {
        const list = catalog.get(name);
        if (list !== undefined) next.set(name, list);
      }
      const changed: string[] = [];
      for (const { name, manifest } of manifests) {
        roots.set(manifest.digest, manifest.root);
        for (const [digest, files] of manifest.pages) pages.set(digest, files.flatMap(blobsOf));
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
      const gone = [...catalog.keys()].filter((name) => !next.has(name));
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
        log.info("state files that nothing refers to were removed", {
          blobs: removed,
          at: rfc3339(clock.now()),
        });
      }
      return removed;
    },
  };
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
      ...(blobs === undefined ? {} : { blobs }),
    }));
  return encodeManifest({ environment: name, origin, files: sorted });
}

async function moved(moving: Promise<number | undefined>): Promise<number> {
  const revision = await moving;
  if (revision === undefined) throw lost();
  return revision;
}

function lost(): SvcError {
  return new SvcError("conflict", "another master publishes state files now");
}

/** What a master signed of the head; `undefined` when none did, or another was seen since. */
function checkHead({ seal, log }: PublisherDeps, head: Head): SignedStatement | undefined {
  try {
    return seal.check(head);
  } catch (thrown) {
    log.error("the head of the state files is not as a master published it: it is published anew", {
      reason: describeError(thrown),
    });
    return undefined;
  }
}
