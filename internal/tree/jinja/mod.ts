export { asInteger, asItems, asMap, asText, take } from "./arguments.ts";
export { Budget } from "./budget.ts";
export { createEnvironment, type Environment, JinjaError } from "./environment.ts";
export { Fault } from "./fault.ts";
export { makeMap } from "./filters-list.ts";
export type { Filter, Test } from "./frame.ts";
export { pairsOf } from "./methods.ts";
export { builtinNames } from "./names.ts";
export { repr, textOf } from "./text.ts";
export {
  type Args,
  Callable,
  compare,
  copyOf,
  defined,
  equals,
  Facade,
  Float,
  float,
  fromPlain,
  isFloat,
  isInteger,
  isNumber,
  itemsOf,
  iterate,
  Tuple,
  toNumber,
  toPlain,
  truthy,
  typeName,
  Undefined,
  type Value,
  ValueMap,
} from "./values.ts";
