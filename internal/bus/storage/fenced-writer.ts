import * as v from "valibot";
import { SvcError } from "../../base/errors.ts";
import { record } from "../../base/record.ts";
import type { Bus } from "../connection/mod.ts";
import { lastMessage, orStorageError, type StoreOptions, storeMessage } from "../jetstream/mod.ts";
import { keySubject } from "../subjects/subjects.ts";

/** The key that names the current writer; no other key of such a bucket may have this name. */
export const fenceKey = "_fence";

const fences = record("fence", { token: v.pipe(v.number(), v.safeInteger()) }, { version: 1, isOpen: true });

/** The right to be the only writer of a bucket, until a writer with a larger token takes over. */
export interface FencedWriter {
  /**
   * Stores a key, or removes it when the value is absent.
   *
   * @returns the new revision
   * @throws SvcError `conflict` when another writer has written since: nothing was stored, and this writer
   * can never store anything again; `storage` when the bucket is not available
   */
  write(key: string, value: Uint8Array | undefined): Promise<number>;
}

/**
 * Takes over a bucket. It first writes the fence, one small message with the token. From then on each write
 * requires that the last message of the whole bucket is its own. A holder that was paused does not know the
 * latest message, so the server refuses its writes, however late they arrive.
 *
 * @param token the fencing token of a lease, which only grows
 * @throws SvcError `conflict` when the fence has a larger token
 */
export async function acquireWriter(bus: Bus, bucket: string, token: number): Promise<FencedWriter> {
  const before = await lastFence(bus, bucket);
  if (before.token > token) throw lost(bucket);
  const fence = fences.encode({ token });
  let last = await publish(bus, bucket, fenceKey, fence, { lastOnSubject: before.revision });
  let over = false;
  let queue: Promise<unknown> = Promise.resolve();
  const writeOne = async (key: string, value: Uint8Array | undefined): Promise<number> => {
    if (over) throw lost(bucket);
    const removal = value === undefined ? "DEL" : undefined;
    try {
      last = await publish(bus, bucket, key, value ?? new Uint8Array(), { lastInStream: last, removal });
      return last;
    } catch (thrown) {
      // Also when the reply was lost: then it is unknown whether the message was stored, and which message is
      // the last.
      over = true;
      throw thrown;
    }
  };
  return {
    write(key, value) {
      const written = queue.then(() => writeOne(key, value));
      queue = written.catch(() => {});
      return written;
    },
  };
}

async function lastFence(bus: Bus, bucket: string): Promise<{ token: number; revision: number }> {
  const message = await orStorageError(`the bucket ${bucket}`, () =>
    lastMessage(bus, `KV_${bucket}`, keySubject(bucket, fenceKey)),
  );
  if (message === undefined) return { token: 0, revision: 0 };
  // A damaged one has no token.
  return { token: fences.decodeOrNothing(message.data)?.token ?? 0, revision: message.sequence };
}

async function publish(
  bus: Bus,
  bucket: string,
  key: string,
  value: Uint8Array,
  options: StoreOptions,
): Promise<number> {
  const revision = await orStorageError(`the bucket ${bucket}`, () =>
    storeMessage(bus, keySubject(bucket, key), value, options),
  );
  if (revision === undefined) throw lost(bucket);
  return revision;
}

function lost(bucket: string): SvcError {
  return new SvcError("conflict", `another master writes the bucket ${bucket} now`);
}
