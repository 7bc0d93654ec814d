import type { Clock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { sha256Hex } from "../../base/sha256.ts";
import type { BlobStore } from "./blob-store.ts";

/** The new target of the head. */
export interface Commit {
  /** Digest of the bytes. */
  digest: string;
  data: Uint8Array;
  /** Fencing token of the writer; 0 for writers that need none. */
  token: number;
  /** The data that the writer signed. */
  statement?: Uint8Array;
}

/** Bytes by their digest, a head that names some of them, and the removal of unreferenced ones. */
export interface ContentStore {
  /**
   * Stores bytes, and points the head to them if `revision` is still its latest; 0 for a store without a
   * head.
   *
   * @returns the new revision, or `undefined` when another writer moved the head. @throws SvcError `storage`
   */
  commit(next: Commit, revision: number): Promise<number | undefined>;
  /**
   * Removes blobs that were unreferenced for the grace time, as this store observed it. Storing a blob again
   * restarts its time.
   *
   * @param stays digests of all referenced blobs, including the head
   * @param claim moves the head before anything is removed, so that a writer with an earlier head is refused;
   * gets the sequences of each blob to remove. When it returns `false`, nothing is removed
   * @returns how many blobs were removed. @throws SvcError `storage`; what `claim` throws
   */
  collect(
    stays: ReadonlySet<string>,
    claim: (doomed: ReadonlyMap<string, readonly number[]>) => Promise<boolean>,
  ): Promise<number>;
}

/**
 * @param blobs where it is stored
 * @param graceMs for readers in progress, and for writers that have not committed yet
 */
export function openContentStore(
  blobs: Pick<BlobStore, "put" | "moveHead" | "list" | "remove">,
  graceMs: number,
  clock: Pick<Clock, "monotonic">,
): ContentStore {
  /** Unreferenced blobs: the sequence of each, and since when this is known. */
  const idle = new Map<string, { place: number; since: number }>();
  return {
    async commit({ digest, data, token, statement }, revision) {
      await blobs.put(digest, data);
      const signed = defined({ statement });
      return blobs.moveHead({ digest, size: data.length, token, ...signed }, revision);
    },

    async collect(stays, claim) {
      const listed = await blobs.list();
      const now = clock.monotonic();
      const doomed = new Map<string, readonly number[]>();
      for (const [digest, places] of listed) {
        if (stays.has(digest)) {
          idle.delete(digest);
          continue;
        }
        const place = Math.max(...places);
        const known = idle.get(digest);
        if (known?.place !== place) idle.set(digest, { place, since: now });
        else if (now - known.since >= graceMs) doomed.set(digest, places);
      }
      for (const digest of idle.keys()) if (!listed.has(digest)) idle.delete(digest);
      if (doomed.size === 0 || !(await claim(doomed))) return 0;
      // By sequence: a blob that was stored again has another one, and stays.
      for (const [digest, places] of doomed) {
        for (const place of places) await blobs.remove(place);
        idle.delete(digest);
      }
      return doomed.size;
    },
  };
}

/**
 * @returns the bytes of this digest; `undefined` when they are missing or damaged. @throws SvcError `storage`
 */
export async function readBlob(
  blobs: Pick<BlobStore, "get">,
  digest: string,
): Promise<Uint8Array | undefined> {
  const data = await blobs.get(digest);
  return data !== undefined && sha256Hex(data) === digest ? data : undefined;
}
