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
export { type Backup, backUpBus, restoreBus } from "./backup.ts";
export { type BlobStore, type Head, openBlobStore } from "./blob-store.ts";
export { type Bucket, type Change, type Entry, openBucket } from "./bucket.ts";
export { clientCertificate } from "./client-certificate.ts";
export {
  type Bus,
  type BusIdentity,
  type BusOptions,
  connectBus,
  connectBusForever,
  resolveBusCa,
} from "./connect.ts";
export type { ConnectedUser } from "./connected-users.ts";
export { type Consumer, consume, type DeliveredMessage, removeConsumer } from "./consumer.ts";
export { type Commit, openContentStore, readBlob } from "./content-store.ts";
export { encodeFailure, encodeSuccess, failureOf, openReply } from "./envelope.ts";
export { acquireWriter, type FencedWriter, fenceKey } from "./fenced-writer.ts";
export { clockDifference, countStored, inspectAssets } from "./inspect.ts";
export { createOrderedView } from "./ordered-view.ts";
export { type ConsumerPosition, consumerPosition, firstSequence, removeHandled } from "./position.ts";
export { greetServer, inspectCertificate, placeOf, resolveHost } from "./probe.ts";
export { newerCredentials, requestReply } from "./request.ts";
export { shareWatch } from "./shared-watch.ts";
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
  decisionsSubject,
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
  returnSubject,
  rolloutSubject,
  scheduleSubject,
  stopSubject,
  targetQueue,
  targetResolveSubject,
} from "./subjects.ts";
export { createSystemBus, type SystemBus } from "./system.ts";
export { type Look, untilKey } from "./until-key.ts";
