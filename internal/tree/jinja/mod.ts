export { take } from "./arguments.ts";
export { Budget } from "./budget.ts";
export { createEnvironment, JinjaError } from "./environment.ts";
export { listFilters, makeMap } from "./filters-list.ts";
export type { Filter, Test } from "./frame.ts";
export { LazyMap } from "./lazy-map.ts";
export { holds, itemOf } from "./operators.ts";
export { pretty } from "./pretty.ts";
export { repr, textOf } from "./text.ts";
export {
  type Args,
  Callable,
  compare,
  copyOf,
  equals,
  Facade,
  Fault,
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
  typeName,
  Undefined,
  type Value,
  ValueMap,
  View,
} from "./values/mod.ts";
export { weighArgs } from "./weigh.ts";
