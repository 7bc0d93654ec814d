/**
 * How much each sender may keep so that all together keep no more than a target: a sender that holds less keeps all of it.
 *
 * @param sizes what the senders hold
 * @param bounds the share is never less than `min`, even if the target is missed then, and never more than `max`
 */
export function fairShare(
  sizes: Iterable<number>,
  target: number,
  { min, max }: { min: number; max: number },
): number {
  const ascending = [...sizes].sort((one, other) => one - other);
  let left = target;
  for (const [at, size] of ascending.entries()) {
    const share = left / (ascending.length - at);
    if (size > share) return Math.min(max, Math.max(min, share));
    left -= size;
  }
  return max;
}
