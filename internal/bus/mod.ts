export { append, appendNext, lastOn } from "./append.ts";
export { storesMetadata } from "./asset-version.ts";
export {
  type AssetName,
  assets,
  firstAsset,
  provision,
  provisionOne,
  type Replication,
  replicasFor,
  streamName,
} from "./assets.ts";
export { type Backup, backUpBus, restoreBus, restoreMissing } from "./backup.ts";
export { type BlobStore, type Head, openBlobStore } from "./blob-store.ts";
export { type Bucket, openBucket } from "./bucket.ts";
export { caughtUpInTime } from "./caught-up-in-time.ts";
export { clientCertificate } from "./client-certificate.ts";
export {
  type Bus,
  type BusIdentity,
  type BusOptions,
  badReply,
  busClientSettings,
  connectBus,
  connectBusForever,
  isCredentialsRefused,
  isInbox,
  type Requester,
  resolveBusCa,
  type Sent,
} from "./connect.ts";
export type { ConnectedUser } from "./connected-users.ts";
export { type Consumer, consume, type DeliveredMessage, removeConsumer } from "./consumer.ts";
export { type Commit, openContentStore, readBlob } from "./content-store.ts";
export { damageAdvice } from "./damage.ts";
export { type Discarded, discardOldest } from "./discard-oldest.ts";
export type { Change, Entry } from "./entry.ts";
export { encodeFailure, encodeRateLimited, encodeSuccess, failureOf, openReply } from "./envelope.ts";
export { acquireWriter, type FencedWriter, fenceKey } from "./fenced-writer.ts";
export {
  type Fullness,
  fullest,
  fullnessOf,
  inspectFullness,
  readFullness,
  silentAssets,
} from "./fullness.ts";
export {
  type AssetReport,
  inspectConfigs,
  restoreConfig,
} from "./guard-assets.ts";
export {
  consumerAdvisories,
  type ForeignConsumer,
  inspectConsumers,
  restoreConsumer,
} from "./guard-consumers.ts";
export { clockDifference, countStored, inspectAssets, maxReplicas } from "./inspect.ts";
export { isClustered } from "./is-clustered.ts";
export { deleteStream } from "./jetstream/delete-stream.ts";
export { listStreamNames } from "./jetstream/list-stream-names.ts";
export { fittingHistory, keepFewerRevisions } from "./key-history.ts";
export type { LeafNode } from "./leaf-nodes.ts";
export { lintBus } from "./lint-bus.ts";
export { messageAt } from "./message-at.ts";
export { readOffer } from "./offer.ts";
export { orStorageError } from "./or-storage-error.ts";
export { createOrderedView } from "./ordered-view.ts";
export {
  type ConsumerPosition,
  consumerPosition,
  firstSequence,
  type StreamEnds,
  streamEnds,
} from "./position.ts";
export { greetServer, inspectCertificate, placeOf, resolveHost } from "./probe.ts";
export { readOnHints } from "./read-on-hints.ts";
export { type PlacedMessage, readRange, sequenceAt } from "./read-range.ts";
export { readSingly } from "./read-singly.ts";
export { readValues, type Stored } from "./read-values.ts";
export { createRecentStreams, type RecentStreams } from "./recent-streams.ts";
export { createReconciler, maxPushes, type Reconciler } from "./reconcile.ts";
export { relay } from "./relay.ts";
export { removeMessages } from "./remove-messages.ts";
export { removeSubject } from "./remove-subject.ts";
export { leaveServer, removeFromGroup, setReplicas, untilComplete } from "./replicas/change.ts";
export { checkReplicas, type ReplicaCheck } from "./replicas/check.ts";
export { readHealth, type ServerHealth } from "./replicas/health.ts";
export { type Membership, readMembership } from "./replicas/members.ts";
export {
  type BusServerInfo,
  replicaAdvice,
  replicaProblem,
} from "./replicas/servers.ts";
export {
  isNotAllowed,
  isUnserved,
  newerCredentials,
  requestAsOperator,
  requestReply,
  streamAsOperator,
} from "./request.ts";
export type { Room } from "./room.ts";
export { shareWatch } from "./shared-watch.ts";
export { type Probed, probeStorage } from "./storage-probe.ts";
export { assertStored, isTooLarge } from "./stored.ts";
export { reportsStored, storedSubjects } from "./stored-subjects.ts";
export { readLatest, readStream, type StoredMessage } from "./stream.ts";
export {
  ackSubject,
  adminQueue,
  auditSubject,
  dispatchSubject,
  eventSubject,
  fetchSubject,
  followSubject,
  helloSubject,
  hintSubject,
  jobEventSubjects,
  jobSubjects,
  keySubject,
  knownKeysSubject,
  mastersQueue,
  parseEventSubject,
  parseJobSubject,
  peelInboxPrefix,
  progressSubject,
  readyzOfMasterSubject,
  readyzSubject,
  rekeySubject,
  relayedReactorSubject,
  renewSubject,
  returnSubject,
  scheduleSubject,
  siteDispatchSubject,
  siteHintSubject,
  stopSubject,
} from "./subjects.ts";
export { surveyServers } from "./survey-servers.ts";
export { type ConnectionListener, createSystemBus, type HeldClaims, type SystemBus } from "./system.ts";
export { trimSenders } from "./trim-senders.ts";
export { type KeyCheck, untilKey } from "./until-key.ts";
