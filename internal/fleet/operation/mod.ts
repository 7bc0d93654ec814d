export { feed } from "./feed.ts";
export { invoke } from "./invoke.ts";
export {
  type Call,
  type Caller,
  type FieldsSchema,
  type InputSchema,
  type Operation,
  operation,
  operatorOf,
} from "./operation.ts";
export { type Asked, parse } from "./parse.ts";
export { described, integer, pageFields, pageOf, plain, plainMap, timestamp, titled } from "./schema.ts";
