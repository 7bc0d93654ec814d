/** The streams whose messages are events, in the order of their numbers in a position. */
export const feedStreams = ["events", "job-events", "enrollments"] as const;
export type FeedStream = (typeof feedStreams)[number];

/**
 * How far the feed was read: the sequence of the last message of each stream. Sequences are those of the bus, so a
 * position means the same to every master.
 */
export type Position = Readonly<Record<FeedStream, number>>;

/** `120-4711-38` */
export const positionPattern = "^[0-9]{1,15}-[0-9]{1,15}-[0-9]{1,15}$";

export function formatPosition(position: Position): string {
  return feedStreams.map((stream) => position[stream]).join("-");
}

/** @throws Error when the text does not match `positionPattern` */
export function parsePosition(text: string): Position {
  if (!new RegExp(positionPattern).test(text)) throw new Error("not a position of the feed");
  const [events = 0, jobEvents = 0, enrollments = 0] = text.split("-").map(Number);
  return { events, "job-events": jobEvents, enrollments };
}

export function isSamePosition(one: Position, other: Position): boolean {
  return feedStreams.every((stream) => one[stream] === other[stream]);
}

/** Whether `one` is ahead in at least one stream, and behind in none. */
export function isBeyond(one: Position, other: Position): boolean {
  return !isSamePosition(one, other) && feedStreams.every((stream) => one[stream] >= other[stream]);
}
