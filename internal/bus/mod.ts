export { append, lastOn } from "./append.ts";
export {
  type AssetName,
  assets,
  provision,
  provisionOne,
  type Replication,
  replicasFor,
  streamName,
} from "./assets.ts";
export { type BackedUp, backUpBus, restoreBus } from "./backup.ts";
export { type BlobStore, type Head, openBlobStore } from "./blob-store.ts";
export { type Bucket, type Change, type Entry, openBucket } from "./bucket.ts";
export { clientCertificate } from "./client-certificate.ts";
export {
  type Bus,
  type BusIdentity,
  type BusOptions,
  badReply,
  connectBus,
  connectBusForever,
  resolveBusCa,
} from "./connect.ts";
export { type Consumer, consume, type DeliveredMessage, removeConsumer } from "./consumer.ts";
export { type Commit, openContentStore, readBlob } from "./content-store.ts";
export { type Discarded, discardOldest } from "./discard-oldest.ts";
export { encodeFailure, encodeRateLimited, encodeSuccess, failureOf, openReply } from "./envelope.ts";
export { acquireWriter, type FencedWriter, fenceKey } from "./fenced-writer.ts";
export { type Fullness, fullest, inspectFullness, readFullness } from "./fullness.ts";
export { clockDifference, inspectAssets } from "./inspect.ts";
export { readOffer } from "./offer.ts";
export { createOrderedView } from "./ordered-view.ts";
export {
  type ConsumerPosition,
  consumerPosition,
  firstSequence,
  removeHandled,
  streamLimit,
} from "./position.ts";
export { greetServer, inspectCertificate, placeOf, resolveHost } from "./probe.ts";
export { purgeSubject } from "./purge.ts";
export { newerCredentials, requestReply } from "./request.ts";
export type { Room } from "./room.ts";
export { shareWatch } from "./shared-watch.ts";
export { probeStorage } from "./storage-probe.ts";
export { assertStored, isTooLarge } from "./stored.ts";
export { readStream, type StoredMessage } from "./stream.ts";
export {
  type AdminAction,
  ackSubject,
  adminQueue,
  adminSubject,
  binaryCommitSubject,
  binaryPutSubject,
  cancelSubject,
  dispatchSubject,
  eventSubject,
  fetchSubject,
  helloSubject,
  hintSubject,
  jobEventSubjects,
  jobListSubject,
  jobRequestSubject,
  keySubject,
  mastersQueue,
  parseEventSubject,
  parseJobSubject,
  peelInboxPrefix,
  progressSubject,
  type ReactorAction,
  type RolloutAction,
  reactorSubject,
  readyzSubject,
  returnSubject,
  rolloutSubject,
  scheduleSubject,
  stopSubject,
  targetQueue,
  targetResolveSubject,
} from "./subjects.ts";
export { createSystemBus, type SystemBus, type UserConnection } from "./system.ts";
export { type Look, untilKey } from "./until-key.ts";
