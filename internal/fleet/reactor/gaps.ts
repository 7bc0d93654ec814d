/** Detects events that left their stream before they were read. */
export interface Gaps {
  /** Notes a received message. Redeliveries are ignored. */
  note(sequence: number, deliveries: number): Promise<void>;
}

/**
 * Compares each stream sequence with the previous one. Messages missing in between may still be on their way
 * to a previous holder of the lease. Only those that the stream no longer holds are lost.
 *
 * @param options.delivered sequence of the last message delivered so far; absent when the first one that comes is it
 * @param options.first sequence of the oldest message in the stream
 * @param options.onLost called with the number of lost messages
 */
export function createGaps(options: {
  delivered: number | undefined;
  first(): Promise<number>;
  onLost(count: number): void;
}): Gaps {
  let last = options.delivered;
  return {
    async note(sequence, deliveries) {
      if (deliveries > 1 || (last !== undefined && sequence <= last)) return;
      const before = last ?? sequence - 1;
      last = sequence;
      if (sequence === before + 1) return;
      const oldest = await options.first();
      const lost = Math.min(oldest, sequence) - 1 - before;
      if (lost > 0) options.onLost(lost);
    },
  };
}
