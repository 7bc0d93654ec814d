import { type ArgDef, type ArgsDef, type CommandDef, defineCommand, type ParsedArgs } from "citty";
import type { Clock } from "../../base/clock.ts";
import type { Random } from "../../base/id.ts";
import type { Messages } from "../../base/messages.ts";
import type { Span } from "../../base/trace.ts";
import type { Rows } from "./csv.ts";
import type { IdKind } from "./id-kinds.ts";
import type { OutputFormat } from "./print.ts";
import type { BeginSpans } from "./span-of-command.ts";

export type { CommandDef };

/** A stream that text is written to, such as `process.stdout`. */
export interface Output {
  /** @returns `false` when what was written waits until someone reads it */
  write(text: string): unknown;
  /** Calls `run` when nothing waits any more, after `write` returned `false`; or when nobody will read it. */
  once?(name: "drain" | "error", run: () => void): unknown;
  /** Whether a person reads it. */
  isTTY?: boolean;
  /** Width of the terminal in cells, as of now. */
  columns?: number;
  /** Its height in lines. */
  rows?: number;
}

/** Where Ctrl-C arrives, such as `process`. Without a listener it ends the program at once. */
export interface Signals {
  on(name: "SIGINT", listener: () => void): unknown;
  off(name: "SIGINT", listener: () => void): unknown;
}

/** What a command finds around it. */
export interface Machine {
  env: Readonly<Record<string, string | undefined>>;
  hostname: string;
  stdout: Output;
  stderr: Output;
  signals?: Signals;
  clock: Clock;
  random: Random;
  /**
   * Asks the person at the terminal, and resolves with the line that is typed, empty at the end of input. Absent
   * where no one can confirm.
   */
  prompt?(question: string): Promise<string>;
  /**
   * Shows a long result with a pager. Absent for programs that nobody reads at a terminal.
   *
   * @returns whether the pager was there
   */
  page?(command: string, text: string): Promise<boolean>;
}

/** What a command works with: the machine, the global options, and the ways to say something. */
export interface Cli extends Machine, Messages {
  /** The command without the program, such as `enroll list`. */
  command?: string;
  /** `--config`: the file of the operator's configuration. */
  config?: string;
  /** `--context`: the name of an installed operator file. */
  context?: string;
  /** `--connect-timeout`: how long the bus may take to accept the connection, milliseconds. */
  connectTimeoutMs: number;
  /** Whether a person reads the result and wants color. */
  color: boolean;
  /** `--wide`: tables are shown in full. */
  wide: boolean;
  /** Cells of a line where the result is shown; absent where nothing limits it, as in a pipe. */
  width?: number;
  /** `--output` */
  output: OutputFormat;
  /**
   * The span of this command, which ends with it. It begins with the first call, as long ago as the command.
   *
   * @param begin begins to send spans
   * @param parent the `traceparent` of what runs the command
   */
  span(begin: BeginSpans, parent: string | undefined): Promise<Span>;
  /** Remembers columns of the result that `--wide` would show: on a terminal, `print` names them. */
  noteHidden(heads: readonly string[]): void;
  /**
   * Writes the result of the command to standard output.
   *
   * @param data plain data with the field names of the wire, for `json`, `jsonl` and `yaml`
   * @param text the same for people, for `table`
   * @param rows the same for spreadsheets, for `csv`; absent means the fields of the data
   */
  print(data: unknown, text: () => string, rows?: () => Rows): Promise<void>;
}

/** Ends a command with an exit code when all there is to say has been said. */
export class Exit extends Error {
  readonly code: number;

  constructor(code: number) {
    super(`exit ${code}`);
    this.code = code;
  }
}

/** A positional that takes all remaining words; it is declared last. */
type RestArg = { type: "positional"; rest: true; description: string; ids?: IdKind };

/** What a rest takes: the words in their order, and apart from them those behind `--`. */
export interface RestWords {
  words: string[];
  literal: string[];
}

/** An option that may be given several times. */
type RepeatedArg = { type: "string"; repeated: true; valueHint: string; description: string };

/** An argument, and what completion offers for it where that is on the bus. */
export type IdsArg = ArgDef & { ids?: IdKind };

/** Whether an argument takes all remaining words. */
export function isRest(definition: ArgDef | undefined): boolean {
  return definition !== undefined && "rest" in definition;
}

/** Whether an option may be given several times. */
export function isRepeated(definition: ArgDef | undefined): boolean {
  return definition !== undefined && "repeated" in definition;
}

type Plain<Args extends ArgsDef> = {
  [K in keyof Args as Args[K] extends RestArg | RepeatedArg ? never : K]: Args[K];
};
type Values<Args extends ArgsDef> = ParsedArgs<Plain<Args>> & {
  [K in keyof Args as Args[K] extends RestArg ? K : never]: RestWords;
} & { [K in keyof Args as Args[K] extends RepeatedArg ? K : never]: readonly string[] };

/** Defines one command. Its arguments are checked before it runs. */
export function command<const Args extends Record<string, IdsArg>>(declared: {
  name: string;
  /** One sentence in the imperative, with a full stop. */
  description: string;
  /** Whole command lines, as one types them: help and manual show them. */
  examples: readonly string[];
  /**
   * It lists what its group is about under another name than `list`, which is taken as well: people try that first.
   * One without a group takes the word behind its own name.
   */
  lists?: true;
  args: Args;
  run(args: Values<Args>, cli: Cli): Promise<void>;
}): CommandDef {
  const { name, description, examples, lists, args, run } = declared;
  return defineCommand<ArgsDef>({
    meta: metaWith({ name, description, examples, ...(lists && { lists }) }),
    args,
    run: (context) => run(context.args as unknown as Values<Args>, context.data as Cli),
  });
}

/** Commands that people use for one thing. */
type Section = readonly [title: string, names: readonly string[]];

/** Defines a command that only holds others. They are loaded when one of them is wanted. */
export function group(declared: {
  name: string;
  description: string;
  /** Without them, help shows the first one of each command that it holds. */
  examples?: readonly string[];
  /** Headings of help, each with the names of its commands; every command stands under one. */
  sections?: readonly Section[];
  commands: () => Promise<readonly CommandDef[]> | readonly CommandDef[];
}): CommandDef {
  const { name, description, examples = [], sections, commands } = declared;
  return defineCommand({
    meta: metaWith({ name, description, examples, ...(sections && { sections }) }),
    subCommands: async () => Object.fromEntries((await commands()).map((one) => [nameOf(one), one] as const)),
  });
}

/** The name a command was defined with. */
export function nameOf(defined: CommandDef): string {
  return metaOf(defined).name;
}

interface Meta {
  name: string;
  description: string;
  examples: readonly string[];
  lists?: true;
  sections?: readonly Section[];
}

/** What a command was defined with, apart from its arguments. */
export function metaOf(defined: CommandDef): Meta {
  return defined.meta as Meta;
}

/** citty knows no examples, and keeps what else it is given. */
function metaWith(meta: Meta): { name: string; description: string } {
  return meta;
}

/** The commands below a command; `undefined` for one that runs. */
export async function childrenOf(defined: CommandDef): Promise<readonly CommandDef[] | undefined> {
  if (typeof defined.subCommands !== "function") return undefined;
  return Object.values(await defined.subCommands()) as CommandDef[];
}

/** The examples of a command; of one that holds others, the first of each, of no more than five. */
export async function examplesOf(defined: CommandDef): Promise<readonly string[]> {
  const { examples } = metaOf(defined);
  const children = examples.length > 0 ? undefined : await childrenOf(defined);
  if (children === undefined) return examples;
  const below = await Promise.all(children.slice(0, 5).map(examplesOf));
  return below.flatMap(([first]) => (first === undefined ? [] : [first]));
}
