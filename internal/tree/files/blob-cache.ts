import { SvcError } from "../../base/errors.ts";
import type { BlobStore } from "../../bus/blob-store.ts";
import { digestOf } from "./manifest.ts";

/** Blobs that were read, in bounded memory; those that were asked for last stay longest. */
export interface BlobCache {
  /** @returns verified bytes, or `undefined` when there is no such blob. @throws SvcError `storage` */
  get(digest: string): Promise<Uint8Array | undefined>;
}

/** What one more entry weighs beside its bytes. */
const entryBytes = 200;

/** Whoever asks for a blob that is being read waits for the same answer, so that it is read once. */
export function createBlobCache(store: Pick<BlobStore, "get">, capacityBytes: number): BlobCache {
  const kept = new Map<string, Uint8Array>();
  const reading = new Map<string, Promise<Uint8Array | undefined>>();
  let bytes = 0;
  const keep = (digest: string, data: Uint8Array) => {
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
    if (digestOf(data) !== digest) throw new SvcError("storage", `the stored blob ${digest} is damaged`);
    keep(digest, data);
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
