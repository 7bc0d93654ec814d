export { take } from "./arguments.ts";
export { Budget } from "./budget.ts";
export { createEnvironment, JinjaError } from "./environment.ts";
export { Fault } from "./fault.ts";
export { makeMap } from "./filters-list.ts";
export type { Filter, Test } from "./frame.ts";
export { LazyMap } from "./lazy-map.ts";
export { repr, textOf } from "./text.ts";
export {
  type Args,
  Callable,
  compare,
  copyOf,
  equals,
  Facade,
  Float,
  float,
  fromPlain,
  isInteger,
  isNumber,
  itemsOf,
  iterate,
  Tuple,
  toNumber,
  toPlain,
  truthy,
  Undefined,
  type Value,
  ValueMap,
} from "./values.ts";
export { weigh } from "./weigh.ts";
