export { formatAge } from "./age.ts";
export { choice, flag, value, word } from "./args.ts";
export { atTerminal } from "./at-terminal.ts";
export { endOnBrokenOutput } from "./broken-output.ts";
export { cutTo } from "./cells.ts";
export {
  type Cli,
  type CommandDef,
  childrenOf,
  command,
  Exit,
  examplesOf,
  group,
  isRest,
  type Machine,
  metaOf,
  type Output,
  type RestWords,
} from "./command.ts";
export { endProcess } from "./end-process.ts";
export { readFlag, readListFlag } from "./flag.ts";
export { globalsOf } from "./globals.ts";
export { type IdKind, idKinds, idsCommand } from "./id-kinds.ts";
export { placeNamed } from "./parse.ts";
export { formatFields, outputFormats, visible } from "./print.ts";
export { runTree } from "./run-tree.ts";
export { type ColumnKind, type Columns, formatTable, type TableStyle } from "./table.ts";
export { paint } from "./tone.ts";
export { describeCommand, formatUsage, globalRows } from "./usage.ts";
