/** The fraction of a certificate's life after which it is renewed, and how much earlier jitter may start it. */
const renewAt = 2 / 3;
const jitterSpan = 1 / 15;

/**
 * When to renew a certificate: after about two thirds of its life (specification, "ca.mode semantics").
 * Jitter makes it slightly earlier, so that masters that start together do not renew together.
 *
 * @param from when it was put into use; its `notBefore` may be earlier, to allow for clock skew
 * @param until its `notAfter`; both in milliseconds since the Unix epoch
 * @param jitter in [0, 1)
 * @returns milliseconds from `now`; 0 means at once
 */
export function nextRenewal(from: number, until: number, now: number, jitter: number): number {
  const life = Math.max(0, until - from);
  return Math.max(0, from + life * (renewAt - jitterSpan * jitter) - now);
}

/** The remaining fraction of a certificate's life: 1 when new, 0 when expired. */
export function remainingLife(from: number, until: number, now: number): number {
  if (until <= from) return 0;
  return Math.min(1, Math.max(0, (until - now) / (until - from)));
}
