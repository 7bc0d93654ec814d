export { feed } from "./feed.ts";
export { invoke } from "./invoke.ts";
export {
  type Agreement,
  type Call,
  type Caller,
  type Ending,
  type FieldsSchema,
  type Gate,
  type InputSchema,
  nameOfCaller,
  type Operation,
  type OperatorCaller,
  operation,
  operatorOf,
  type Passenger,
  type Touch,
} from "./operation.ts";
export { type Asked, parse } from "./parse.ts";
export { repeatedRequest } from "./repeated.ts";
export {
  described,
  describedDigest,
  digest,
  integer,
  pageFields,
  pageOf,
  plain,
  plainMap,
  timestamp,
  titled,
} from "./schema.ts";
export { nameOfScope, type Scope, type ScopeKind, scopes } from "./scope.ts";
