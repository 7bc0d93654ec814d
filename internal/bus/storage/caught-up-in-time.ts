import type { Clock } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";
import type { Watch } from "./entry.ts";

/** How long a request may wait for the first reading. */
const readMs = 5_000;

/**
 * Resolves when everything that is stored now is known, as `Watch.caughtUp`, and does not wait longer than 5 s for the
 * first reading.
 *
 * @param what is read, in the plural, for the message
 * @throws SvcError `storage`; `unavailable`
 */
export async function caughtUpInTime(
  watch: Pick<Watch, "ready" | "caughtUp">,
  what: string,
  clock: Pick<Clock, "after">,
): Promise<void> {
  const late = Promise.withResolvers<never>();
  const timer = clock.after(readMs, () => {
    late.reject(new SvcError("unavailable", `the ${what} that are stored are not read yet: try again`));
  });
  try {
    await Promise.race([watch.ready, late.promise]);
  } finally {
    timer.cancel();
  }
  await watch.caughtUp();
}
