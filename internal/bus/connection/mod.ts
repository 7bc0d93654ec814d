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
  isNameUnknown,
  nameAdvice,
  type Requester,
  resolveBusCa,
  type Sent,
} from "./connect.ts";
export { isClustered } from "./is-clustered.ts";
export { newInbox } from "./new-inbox.ts";
export { relay } from "./relay.ts";
export {
  isNotAllowed,
  isUnserved,
  newerCredentials,
  requestAsOperator,
  requestReply,
  streamAsOperator,
} from "./request.ts";
