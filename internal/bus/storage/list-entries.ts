import type { KvEntry } from "nats";
import { SvcError } from "../../base/errors.ts";
import type { Bus } from "../connection/mod.ts";
import { requestTimeoutMs } from "../jetstream/mod.ts";
import { damageAdvice } from "./damage.ts";

/** A library's watch of a bucket, as far as listing needs it. */
interface KvWatch extends AsyncIterable<KvEntry> {
  stop(): void;
}

/**
 * The entries of a bucket that a new watch delivers first. The server that feeds the watch may end while the
 * connection stays: a list that stops growing fails.
 *
 * @param stream for the error
 * @param watch starts the watch, and calls `ready` after the last entry that exists now
 * @throws SvcError `unavailable` when nothing arrives for 5 s
 */
export async function listEntries(
  { clock }: Pick<Bus, "clock">,
  stream: string,
  watch: (ready: () => void) => Promise<KvWatch>,
): Promise<KvEntry[]> {
  const found: KvEntry[] = [];
  const ready = Promise.withResolvers<void>();
  // A watch that fails to start is reported by `watch`, not here.
  ready.promise.catch(() => {});
  const late = () => {
    const seconds = requestTimeoutMs / 1000;
    const seen = `${found.length} values, then nothing for ${seconds} s`;
    ready.reject(new SvcError("unavailable", `the bus stopped listing ${stream} (${seen}): ${damageAdvice}`));
  };
  let silence = clock.after(requestTimeoutMs, late);
  const iterator = await watch(ready.resolve).finally(() => silence.cancel());
  silence = clock.after(requestTimeoutMs, late);
  void (async () => {
    for await (const entry of iterator) {
      silence.cancel();
      silence = clock.after(requestTimeoutMs, late);
      found.push(entry);
    }
  })().catch(ready.reject);
  try {
    await ready.promise;
    return found;
  } finally {
    silence.cancel();
    iterator.stop();
  }
}
