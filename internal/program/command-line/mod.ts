export { endOnBrokenOutput } from "./broken-output.ts";
export { checkCommand, quietLog, showSteps } from "./check.ts";
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
export { indent, textLines } from "./plain-lines.ts";
export { formatFields, formatTable, visible } from "./print.ts";
export { type CliOptions, runTree } from "./run-tree.ts";
export { showStates } from "./show-states.ts";
export { plainOrOutput, type ShownValue, showValue } from "./show-value.ts";
export { describeCommand, globalRows } from "./usage.ts";
