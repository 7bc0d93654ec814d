export type {
  Argument,
  Binary,
  BlockFilter,
  Comparison,
  Expression,
  Loading,
  Parameter,
  Statement,
  Target,
} from "./ast.ts";
export { parse } from "./parse.ts";
export { SyntaxFault } from "./syntax-fault.ts";
