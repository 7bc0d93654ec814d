const second = 1_000;

/** Where in the life of a certificate its renewal begins, and how much earlier jitter may put it. */
const renewAt = 2 / 3;
const jitterSpan = 1 / 15;

/**
 * When a certificate is to be renewed: at about two thirds of its life (specification, "ca.mode
 * semantics"), a little earlier by jitter, so that masters started together do not renew together.
 *
 * @param from when it was put to use; its `notBefore` may lie before that, for clocks that differ
 * @param until its `notAfter`; both in milliseconds since the Unix epoch
 * @param jitter in [0, 1)
 * @returns milliseconds from `now` on; 0 means at once
 */
export function nextRenewal(from: number, until: number, now: number, jitter: number): number {
  const life = Math.max(0, until - from);
  return Math.max(0, from + life * (renewAt - jitterSpan * jitter) - now);
}

/** How long to wait after failures in a row before trying again: 1 s, doubled up to 5 minutes. */
export function retryPause(failures: number): number {
  return Math.min(second * 2 ** Math.min(failures - 1, 20), 300 * second);
}

/** The part of its life a certificate still has, 1 when new and 0 when over. */
export function remainingLife(from: number, until: number, now: number): number {
  if (until <= from) return 0;
  return Math.min(1, Math.max(0, (until - now) / (until - from)));
}
