export { take } from "./arguments.ts";
export { createEnvironment, type Environment, JinjaError } from "./environment.ts";
export { Fault } from "./fault.ts";
export type { Filter } from "./frame.ts";
export { textOf } from "./text.ts";
export {
  Callable,
  Facade,
  fromPlain,
  toPlain,
  Undefined,
  type Value,
  ValueMap,
} from "./values.ts";
