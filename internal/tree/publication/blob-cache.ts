import { SvcError } from "../../base/errors.ts";
import { sha256Hex } from "../../base/sha256.ts";
import type { BlobStore } from "../../bus/storage/mod.ts";

/** An LRU cache of blobs with a limit on its memory. */
export interface BlobCache {
  /** @returns verified bytes, or `undefined` when the blob does not exist. @throws SvcError `storage` */
  get(digest: string): Promise<Uint8Array | undefined>;
}

/** Estimated overhead of one entry, in bytes. */
const entryBytes = 200;

/** Concurrent requests for one blob share a single read. */
export function createBlobCache(store: Pick<BlobStore, "get">, capacityBytes: number): BlobCache {
  const kept = new Map<string, Uint8Array>();
  const reading = new Map<string, Promise<Uint8Array | undefined>>();
  let bytes = 0;
  const save = (digest: string, data: Uint8Array) => {
    kept.set(digest, data);
    bytes += data.length + entryBytes;
    for (const [oldest, dropped] of kept) {
      if (bytes <= capacityBytes) break;
      kept.delete(oldest);
      bytes -= dropped.length + entryBytes;
    }
  };
  const read = async (digest: string) => {
    const data = await store.get(digest);
    if (data === undefined) return undefined;
    if (sha256Hex(data) !== digest) throw new SvcError("storage", `the stored blob ${digest} is damaged`);
    save(digest, data);
    return data;
  };
  return {
    async get(digest) {
      const data = kept.get(digest);
      if (data !== undefined) {
        kept.delete(digest);
        kept.set(digest, data);
        return data;
      }
      const running = reading.get(digest) ?? read(digest).finally(() => reading.delete(digest));
      reading.set(digest, running);
      return running;
    },
  };
}
