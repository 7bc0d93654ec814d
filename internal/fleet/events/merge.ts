/** What was read of a stream. */
export interface Reading<Stream extends string, Message extends { storedAt: number }> {
  stream: Stream;
  messages: readonly Message[];
  /** Whether nothing is left before the end. */
  isWhole: boolean;
}

/**
 * Merges what was read, as far as the order is known: it ends where the rest of a stream may contain something
 * older than what is left of the others.
 */
export function* inOrder<Stream extends string, Message extends { storedAt: number }>(
  readings: readonly Reading<Stream, Message>[],
): Generator<{ stream: Stream; message: Message }> {
  const left = readings.map((reading) => ({ ...reading, next: 0 }));
  for (;;) {
    let oldest: { from: (typeof left)[number]; message: Message } | undefined;
    for (const from of left) {
      const message = from.messages[from.next];
      if (message === undefined) {
        if (!from.isWhole) return;
        continue;
      }
      if (oldest === undefined || message.storedAt < oldest.message.storedAt) oldest = { from, message };
    }
    if (oldest === undefined) return;
    oldest.from.next++;
    yield { stream: oldest.from.stream, message: oldest.message };
  }
}
