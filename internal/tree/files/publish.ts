import { type Clock, rfc3339 } from "../../base/clock.ts";
import { describeError, SvcError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import type { BlobStore, Head } from "../../bus/blob-store.ts";
import { type Catalog, decodeCatalog, encodeCatalog, keptSnapshots, type Published } from "./catalog.ts";
import type { Content, Contents } from "./contents.ts";
import type { HeadSeal } from "./head-seal.ts";
import {
  blobsOf,
  decodePage,
  decodeRoot,
  digestOf,
  type EncodedManifest,
  encodeManifest,
  maxFiles,
  type SnapshotOrigin,
} from "./manifest.ts";
import type { SignedStatement } from "./statement.ts";

/** Maximum number of concurrent uploads. */
const uploads = 32;
/** Unreferenced blobs are kept this long, for peels that are still fetching them. */
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
  const before = await store.head();
  const genuine = before === undefined ? undefined : checkHead(deps, before);
  if (genuine !== undefined && genuine.token > token) throw lost();
  const known = genuine ?? seal.newest;
  const found = known === undefined ? undefined : await readCatalog(deps, known.catalog);
  const headOf = (next: Catalog, data: Uint8Array) => {
    const digest = digestOf(data);
    const statement = seal.sign({ token, catalog: digest, base: next.get("base")?.[0]?.manifest });
    return { digest, size: data.length, token, statement };
  };
  const first = encodeCatalog(found ?? new Map());
  let head = headOf(found ?? new Map(), first);
  await store.put(head.digest, first);
  let revision = await moved(store.moveHead(head, before?.revision ?? 0));

  const listed = await store.list();
  const stored = await readKnown(deps, found ?? new Map(), new Set(listed.keys()));
  let catalog: Catalog = stored.catalog;
  const { roots, pages, present } = stored;
  const encoded = new Map<string, { files: Contents; manifest: EncodedManifest }>();
  const idleSince = new Map<string, number>();

  const advance = async (next: Catalog) => {
    const data = encodeCatalog(next);
    const to = headOf(next, data);
    if (!present.has(to.digest)) await store.put(to.digest, data);
    present.add(to.digest);
    revision = await moved(store.moveHead(to, revision));
    head = to;
    catalog = next;
  };

  const encodeOnce = ({ name, origin, files }: Environment): EncodedManifest => {
    const last = encoded.get(name);
    if (last?.files === files && Bun.deepEquals(last.manifest.root.origin, origin)) return last.manifest;
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
    const manifest = encodeManifest({ environment: name, origin, files: sorted });
    encoded.set(name, { files, manifest });
    return manifest;
  };

  const upload = async (manifests: readonly { manifest: EncodedManifest; files: Contents }[]) => {
    const queue: { wanted: readonly string[]; from: Pick<Content, "pieces">; path: string }[] = [];
    const taken = new Set<string>();
    const want = (path: string, digests: readonly string[], from: Pick<Content, "pieces">) => {
      const wanted = digests.filter((digest) => !present.has(digest) && !taken.has(digest));
      for (const digest of wanted) taken.add(digest);
      if (wanted.length > 0) queue.push({ wanted, from, path });
    };
    for (const { manifest, files } of manifests) {
      for (const page of manifest.pages.values()) {
        for (const file of page) {
          const content = files.get(file.path);
          if (content !== undefined) want(file.path, blobsOf(file), content);
        }
      }
      for (const [digest, data] of manifest.blobs) want(digest, [digest], { pieces: () => only(data) });
    }
    let bytes = 0;
    const work = async () => {
      for (let item = queue.pop(); item !== undefined; item = queue.pop()) {
        const missing = new Set(item.wanted);
        for await (const piece of item.from.pieces()) {
          const digest = digestOf(piece);
          if (!missing.delete(digest)) continue;
          await store.put(digest, piece);
          present.add(digest);
          bytes += piece.length;
        }
        if (missing.size > 0) {
          throw new SvcError("conflict", `the state file ${item.path} changed during publication`);
        }
      }
    };
    await Promise.all(Array.from({ length: uploads }, work));
    return { blobs: taken.size, bytes };
  };

  return {
    environments: () => [...catalog.keys()],

    originOf(environment) {
      const manifest = catalog.get(environment)?.[0]?.manifest;
      return manifest === undefined ? undefined : roots.get(manifest)?.origin;
    },

    async publish(environments, unchanged = []) {
      const manifests = environments.map((environment) => ({
        name: environment.name,
        files: environment.files,
        manifest: encodeOnce(environment),
      }));
      const sent = await upload(manifests);
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
      const referenced = new Set([head.digest]);
      for (const list of catalog.values()) {
        for (const { manifest } of list) {
          referenced.add(manifest);
          for (const page of roots.get(manifest)?.pages ?? []) {
            referenced.add(page);
            for (const blob of pages.get(page) ?? []) referenced.add(blob);
          }
        }
      }
      for (const map of [roots, pages]) {
        for (const digest of map.keys()) if (!referenced.has(digest)) map.delete(digest);
      }
      const stored = await store.list();
      const now = clock.monotonic();
      const doomed: [digest: string, places: readonly number[]][] = [];
      for (const [digest, places] of stored) {
        if (referenced.has(digest)) idleSince.delete(digest);
        else if (!idleSince.has(digest)) idleSince.set(digest, now);
        else if (now - (idleSince.get(digest) ?? now) >= graceMs) doomed.push([digest, places]);
      }
      for (const digest of idleSince.keys()) if (!stored.has(digest)) idleSince.delete(digest);
      if (doomed.length === 0) return 0;
      // Check that this is still the holder after listing: blobs that a later holder uploads have other
      // sequences.
      revision = await moved(store.moveHead(head, revision));
      for (const [digest, places] of doomed) {
        present.delete(digest);
        for (const place of places) await store.remove(place);
        idleSince.delete(digest);
      }
      log.info("state files: unreferenced blobs removed", {
        blobs: doomed.length,
        at: rfc3339(clock.now()),
      });
      return doomed.length;
    },
  };
}

async function* only(data: Uint8Array): AsyncGenerator<Uint8Array> {
  yield data;
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

/** Reads the catalog. One that cannot be read counts as empty, and everything is published again. */
async function readCatalog({ store, log }: PublisherDeps, digest: string): Promise<Catalog | undefined> {
  const data = await store.get(digest);
  try {
    if (data === undefined || digestOf(data) !== digest) throw new SvcError("storage", "it is damaged");
    return decodeCatalog(data);
  } catch (thrown) {
    log.error("state files: the catalog cannot be read; publishing everything again", {
      reason: describeError(thrown),
    });
    return undefined;
  }
}

/** Reads the snapshots that a catalog names; a snapshot that cannot be read is left out. */
async function readKnown(
  { store, log }: PublisherDeps,
  catalog: Catalog,
  listed: ReadonlySet<string>,
): Promise<{
  catalog: Catalog;
  roots: Map<string, ReturnType<typeof decodeRoot>>;
  pages: Map<string, string[]>;
  present: Set<string>;
}> {
  const roots = new Map<string, ReturnType<typeof decodeRoot>>();
  const pages = new Map<string, string[]>();
  const present = new Set<string>();
  const read = async (digest: string) => {
    const data = await store.get(digest);
    if (data !== undefined && digestOf(data) === digest) return data;
    throw new SvcError("storage", `the blob ${digest} is damaged or missing`);
  };
  const keep = (digest: string) => {
    if (listed.has(digest)) present.add(digest);
  };
  const readSnapshot = async (manifest: string) => {
    const root = roots.get(manifest) ?? decodeRoot(await read(manifest));
    await inTurns(root.pages, async (page) => {
      if (!pages.has(page)) pages.set(page, decodePage(await read(page)).flatMap(blobsOf));
    });
    roots.set(manifest, root);
    keep(manifest);
    for (const page of root.pages) {
      keep(page);
      for (const blob of pages.get(page) ?? []) keep(blob);
    }
  };
  const readable = new Map<string, readonly Published[]>();
  for (const [name, list] of catalog) {
    const good: Published[] = [];
    for (const item of list) {
      try {
        await readSnapshot(item.manifest);
        good.push(item);
      } catch (thrown) {
        log.error("state files: a snapshot cannot be read and is left out", {
          environment: name,
          manifest: item.manifest,
          reason: describeError(thrown),
        });
      }
    }
    if (good.length > 0) readable.set(name, good);
  }
  return { catalog: readable, roots, pages, present };
}

async function inTurns<T>(items: readonly T[], run: (item: T) => Promise<void>): Promise<void> {
  const queue = [...items];
  const work = async () => {
    for (let item = queue.pop(); item !== undefined; item = queue.pop()) await run(item);
  };
  await Promise.all(Array.from({ length: uploads }, work));
}
