import type { Timer } from "../../base/clock.ts";
import type { Bus } from "../connection/mod.ts";
import { keySubject } from "../subjects/subjects.ts";
import { readOnHints } from "./read-on-hints.ts";

/** The result of a check of a key, or nothing yet. */
export type KeyCheck<T> =
  | { found: T }
  | {
      /** Starts the timer of another check, in case the key does not change until then. */
      again?: (run: () => void) => Timer;
    };

/**
 * Checks a key of a bucket now and after each of its changes, until there is a result. It does not poll: a
 * change of the key or a reconnect triggers the next check, and a few more in case it was too early.
 *
 * @param check reads the key; `isLate` is true for a check that `again` requested
 * @throws the signal's reason; what `check` throws
 */
export async function untilKey<T>(
  bus: Pick<Bus, "nats" | "onReconnect" | "clock">,
  { bucket, key, signal }: { bucket: string; key: string; signal: AbortSignal },
  check: (isLate: boolean) => Promise<KeyCheck<T>>,
): Promise<T> {
  let changed = Promise.withResolvers<"changed" | "late">();
  const wake = () => changed.resolve("changed");
  // Subscribe first and read second: a change between the two is seen twice, never missed.
  const hints = readOnHints(bus.clock, wake);
  const subscription = bus.nats.subscribe(keySubject(bucket, key), { callback: hints.take });
  const unsubscribe = bus.onReconnect(wake);
  signal.addEventListener("abort", wake, { once: true });
  try {
    await bus.nats.flush();
    let isLate = false;
    for (;;) {
      signal.throwIfAborted();
      changed = Promise.withResolvers();
      const { promise, resolve } = changed;
      const seen = await check(isLate);
      if ("found" in seen) return seen.found;
      const timer = seen.again?.(() => resolve("late"));
      isLate = (await promise.finally(() => timer?.cancel())) === "late";
    }
  } finally {
    subscription.unsubscribe();
    hints.stop();
    unsubscribe();
    signal.removeEventListener("abort", wake);
  }
}
