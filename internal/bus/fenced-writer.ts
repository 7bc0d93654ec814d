import { headers } from "nats";
import { SvcError } from "../base/errors.ts";
import type { Bus } from "./connect.ts";
import { keySubject } from "./subjects.ts";

const requestTimeoutMs = 5_000;
/** The key that says whose turn it is; no other key of such a bucket may have this name. */
export const fenceKey = "_fence";

/** The right to be the only one who writes a bucket, until somebody with a larger token comes. */
export interface ExclusiveWriter {
  /**
   * Stores a key, or removes it when there is no value.
   *
   * @returns the new revision
   * @throws SvcError `conflict` when somebody else has written since: then nothing was stored, and nothing
   *   ever will be through this writer; `storage` when the bucket is not available
   */
  write(key: string, value: Uint8Array | undefined): Promise<number>;
}

/**
 * Takes a bucket over. It raises the fence, one small message that bears the token, and from then on each
 * write demands that the last message of the whole bucket is its own: a holder that was paused and goes on
 * meets a message it does not know, and is refused by the server, however late its write arrives.
 *
 * @param token the fencing token of a lease: it only grows
 * @throws SvcError `conflict` when the fence bears a larger token
 */
export async function takeOver(bus: Bus, bucket: string, token: number): Promise<ExclusiveWriter> {
  const before = await lastFence(bus, bucket);
  if (before.token > token) throw lost(bucket);
  const head = headers();
  head.set("Nats-Expected-Last-Subject-Sequence", `${before.revision}`);
  let last = await publish(bus, bucket, fenceKey, Buffer.from(String(token)), head);
  let over = false;
  let queue: Promise<unknown> = Promise.resolve();
  const writeOne = async (key: string, value: Uint8Array | undefined): Promise<number> => {
    if (over) throw lost(bucket);
    const expected = headers();
    expected.set("Nats-Expected-Last-Sequence", `${last}`);
    if (value === undefined) expected.set("KV-Operation", "DEL");
    try {
      last = await publish(bus, bucket, key, value ?? new Uint8Array(), expected);
      return last;
    } catch (thrown) {
      // Also when the answer was lost: whether it was stored is unknown, and so is what comes last.
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
  const query = JSON.stringify({ last_by_subj: keySubject(bucket, fenceKey) });
  const reply = await request(bus, bucket, `$JS.API.STREAM.MSG.GET.KV_${bucket}`, Buffer.from(query));
  const { message, error } = reply as { message?: { seq: number; data?: string }; error?: ApiError };
  if (message === undefined) {
    if (error?.code === 404) return { token: 0, revision: 0 };
    throw unavailable(bucket, error);
  }
  const token = Number(Buffer.from(message.data ?? "", "base64").toString());
  return { token: Number.isSafeInteger(token) ? token : 0, revision: message.seq };
}

async function publish(
  bus: Bus,
  bucket: string,
  key: string,
  value: Uint8Array,
  head: ReturnType<typeof headers>,
): Promise<number> {
  const reply = await request(bus, bucket, keySubject(bucket, key), value, head);
  const { seq, error } = reply as { seq?: number; error?: ApiError };
  if (error?.err_code === 10071) throw lost(bucket);
  if (seq === undefined || error !== undefined) throw unavailable(bucket, error);
  return seq;
}

interface ApiError {
  code: number;
  err_code?: number;
  description?: string;
}

async function request(
  bus: Bus,
  bucket: string,
  subject: string,
  data: Uint8Array,
  head = headers(),
): Promise<unknown> {
  try {
    return (await bus.nats.request(subject, data, { timeout: requestTimeoutMs, headers: head })).json();
  } catch (cause) {
    throw unavailable(bucket, cause);
  }
}

function lost(bucket: string): SvcError {
  return new SvcError("conflict", `another master writes the bucket ${bucket} now`);
}

function unavailable(bucket: string, cause: unknown): SvcError {
  return new SvcError("storage", `the bucket ${bucket} is not available: is the bus up?`, { cause });
}
