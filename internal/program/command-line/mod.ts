export { askPerson } from "./ask-person.ts";
export { endOnBrokenOutput } from "./broken-output.ts";
export {
  type Cli,
  type CommandDef,
  childrenOf,
  command,
  Exit,
  group,
  type IdsArg,
  isRest,
  type Machine,
  metaOf,
  type Output,
  type RestWords,
} from "./command.ts";
export { readFlag, readListFlag } from "./flag.ts";
export { globalArgs } from "./globals.ts";
export { type IdKind, idKinds, idsCommand } from "./id-kinds.ts";
export { formatFields, formatTable, visible } from "./print.ts";
export { type CliOptions, runTree } from "./run-tree.ts";
export { describeCommand, globalRows } from "./usage.ts";
