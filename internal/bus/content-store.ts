import type { Clock } from "../base/clock.ts";
import { defined } from "../base/defined.ts";
import { sha256Hex } from "../base/sha256.ts";
import type { BlobStore } from "./blob-store.ts";

/** What the head is to point at. */
export interface Commit {
  /** Digest of the bytes. */
  digest: string;
  data: Uint8Array;
  /** Fencing token of the writer; 0 for writers that need none. */
  token: number;
  /** What the writer signed. */
  statement?: Uint8Array;
}

/** Bytes by their digest, a head that names some of them, and the removal of what nothing refers to. */
export interface ContentStore {
  /**
   * Stores bytes, and points the head at them if `revision` is still its latest; 0 for a store without a head.
   *
   * @returns the new revision, or `undefined` when somebody else moved the head. @throws SvcError `storage`
   */
  commit(next: Commit, revision: number): Promise<number | undefined>;
  /**
   * Removes what nothing has referred to for the grace time, as this store saw it. What is stored again in
   * the meantime has its time anew.
   *
   * @param stays digests of all that somebody refers to, the head included
   * @param claim moves the head before anything is removed, so that a writer that has read the head before
   *   is refused; gets the places of each blob that is to go. When it returns `false` everything stays
   * @returns how many blobs were removed. @throws SvcError `storage`; what `claim` throws
   */
  collect(
    stays: ReadonlySet<string>,
    claim: (doomed: ReadonlyMap<string, readonly number[]>) => Promise<boolean>,
  ): Promise<number>;
}

/**
 * @param blobs where it is stored
 * @param graceMs for those that are in the middle of reading, or of storing what they are about to commit
 */
export function openContentStore(
  blobs: Pick<BlobStore, "put" | "moveHead" | "list" | "remove">,
  graceMs: number,
  clock: Pick<Clock, "monotonic">,
): ContentStore {
  /** Blobs that nothing refers to: the place of each, and since when that is known. */
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
      // By place: what was stored again since then has another one, and stays.
      for (const [digest, places] of doomed) {
        for (const place of places) await blobs.remove(place);
        idle.delete(digest);
      }
      return doomed.size;
    },
  };
}

/** @returns the bytes of this digest; `undefined` when they are not there, or damaged. @throws SvcError `storage` */
export async function readBlob(
  blobs: Pick<BlobStore, "get">,
  digest: string,
): Promise<Uint8Array | undefined> {
  const data = await blobs.get(digest);
  return data !== undefined && sha256Hex(data) === digest ? data : undefined;
}
