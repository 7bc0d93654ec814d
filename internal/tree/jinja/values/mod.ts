export { compare, equals } from "./compare.ts";
export { Fault } from "./fault.ts";
export { defined, itemsOf, iterate, settled, truthy } from "./inspect.ts";
export { float, isFloat, isInteger, isNumber, toNumber } from "./number.ts";
export { copyOf, fromPlain, toPlain } from "./plain.ts";
export {
  type Args,
  Callable,
  Facade,
  Float,
  Group,
  Missing,
  Namespace,
  orElse,
  Tuple,
  typeName,
  Undefined,
  Unknown,
  type Value,
  ValueMap,
  View,
  type World,
} from "./value.ts";
