import { abortable } from "../base/abortable.ts";
import type { Clock } from "../base/clock.ts";
import type { Bus } from "../bus/connection/mod.ts";

const closeMs = 500;

/** Closes connections on which nothing is under way: a frozen server never answers a farewell. */
export async function closeAtOnce(open: readonly Bus[], clock: Clock): Promise<void> {
  const enough = new AbortController();
  const giveUp = clock.after(closeMs, () => enough.abort());
  const closing = Promise.all(open.map(({ nats }) => nats.close()));
  await abortable(closing, enough.signal).catch(() => {});
  giveUp.cancel();
}
