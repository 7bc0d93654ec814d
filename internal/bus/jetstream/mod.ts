export { createConsumer, dropConsumer } from "./create-consumer.ts";
export { deleteMessage } from "./delete-message.ts";
export { deleteStream } from "./delete-stream.ts";
export { durableConsumers } from "./durable-consumers.ts";
export { type GotMessage, getMessage } from "./get-message.ts";
export { lastMessage } from "./last-message.ts";
export { listStreamNames } from "./list-stream-names.ts";
export { type ListedStream, listStreams } from "./list-streams.ts";
export { managerOf } from "./manager.ts";
export { nextSequence } from "./next-sequence.ts";
export { orStorageError, storageError } from "./or-storage-error.ts";
export { purgeSubject } from "./purge-subject.ts";
export {
  errorCodes,
  isLeaderless,
  isNotFound,
  JetStreamError,
  readReply,
  requestJetStream,
  requestTimeoutMs,
  withoutLeader,
} from "./request.ts";
export { type StoreOptions, storeMessage } from "./store-message.ts";
export { assertStored, isTooLarge, notStored } from "./stored.ts";
export { streamState } from "./stream-state.ts";
export { subjectHistory } from "./subject-history.ts";
