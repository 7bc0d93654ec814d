export { append, appendNext, lastOn } from "./append.ts";
export { type Consumer, consume, type DeliveredMessage, removeConsumer } from "./consumer.ts";
export { type Discarded, discardOldest } from "./discard-oldest.ts";
export {
  type ConsumerPosition,
  consumerPosition,
  firstSequence,
  type StreamEnds,
  streamEnds,
} from "./position.ts";
export { type PlacedMessage, readRange, sequenceAt } from "./read-range.ts";
export { createRecentStreams, type RecentStreams } from "./recent-streams.ts";
export { removeMessages } from "./remove-messages.ts";
export { removeSubject } from "./remove-subject.ts";
export { reportsStored, storedSubjects } from "./stored-subjects.ts";
export { readLatest, readStream, type StoredMessage } from "./stream.ts";
export { trimSenders } from "./trim-senders.ts";
