/** Notices events that left their stream before anybody read them. */
export interface Gaps {
  /** A message came. Those that come again say nothing. */
  note(sequence: number, deliveries: number): Promise<void>;
}

/**
 * Compares each place in a stream with the one before. What is missing between the two may still be on its way
 * to a master that held the lease before; only what the stream no longer holds is lost.
 *
 * @param options.delivered place of the last message that was delivered before
 * @param options.first the place of the oldest message that the stream holds
 * @param options.onLost called with how many were lost
 */
export function createGaps(options: {
  delivered: number;
  first(): Promise<number>;
  onLost(count: number): void;
}): Gaps {
  let last = options.delivered;
  return {
    async note(sequence, deliveries) {
      if (deliveries > 1 || sequence <= last) return;
      const before = last;
      last = sequence;
      if (sequence === before + 1) return;
      const oldest = await options.first();
      const lost = Math.min(oldest, sequence) - 1 - before;
      if (lost > 0) options.onLost(lost);
    },
  };
}
