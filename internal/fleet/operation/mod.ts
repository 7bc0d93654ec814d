export { type Feed, type FeedSink, feed } from "./feed.ts";
export { invoke } from "./invoke.ts";
export { namePeels } from "./name-peels.ts";
export {
  type Agreement,
  type Bearer,
  type Call,
  type Caller,
  type Ending,
  type FieldsSchema,
  type Gate,
  type InputSchema,
  isOverHttps,
  type Kind,
  nameOfCaller,
  type Operation,
  type OperatorCaller,
  operation,
  operatorOf,
  type Passenger,
  type Stranger,
  type Touch,
} from "./operation.ts";
export { parse, type RawRequest } from "./parse.ts";
export { repeatedRequest } from "./repeated.ts";
export { limitField, pageFields, pageOf } from "./schema.ts";
export { nameOfScope, type Scope, type ScopeKind, type ScopeName, scopes } from "./scope.ts";
