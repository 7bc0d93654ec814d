import type { CommandDef } from "citty";
import { defined } from "../../base/defined.ts";
import { parseDuration } from "../../base/duration.ts";
import { describeError, meaningOf, SvcError, toSvcError } from "../../base/errors.ts";
import { createMessages, type Messages } from "../../base/messages.ts";
import { compileAfterStart } from "../../base/service/jit-policy.ts";
import { version } from "../../base/version.ts";
import { WaitingRequest } from "../../base/waiting.ts";
import { type Cli, Exit, type Machine, nameOf } from "./command.ts";
import { readFlag } from "./flag.ts";
import { globalArgs } from "./globals.ts";
import { pagerFor } from "./pager.ts";
import { type ArgValues, findCommand, parseValues } from "./parse.ts";
import { formatResult, outputFormats, visible } from "./print.ts";
import { type SpanOfCommand, spanOfCommand } from "./span-of-command.ts";
import { formatUsage } from "./usage.ts";

interface CliOptions extends Machine {
  /** The command line without the name of the program. */
  argv: readonly string[];
}

/**
 * Runs one command line of a program: results go to standard output, a failure is one line on standard error.
 *
 * @param tree every command of the program, whose name is the root's
 * @returns the exit code: 0, 2 for a mistake on the command line, 130 after Ctrl-C, 1 for every other failure
 */
export async function runTree(tree: CommandDef, { argv, ...machine }: CliOptions): Promise<number> {
  using _starting = compileAfterStart();
  const name = nameOf(tree);
  const messages = createMessages({ name, write: (text) => machine.stderr.write(text) });
  let cli: Cli | undefined;
  let span: SpanOfCommand | undefined;
  const ended = async (code: number, failure?: string) => {
    await span?.end(code, failure);
    return code;
  };
  try {
    const found = await findCommand(tree, argv);
    if (found.help) machine.stdout.write(`${await formatUsage(found, widthOfOutput(machine))}\n`);
    else if (found.version) machine.stdout.write(`${name} ${version}\n`);
    else {
      const args = parseValues(found);
      span = spanOfCommand(found.path.join(" "), machine.clock);
      cli = { ...createCli(machine, args, messages, span), command: found.path.slice(1).join(" ") };
      await found.command.run?.({
        rawArgs: [...found.rest],
        args: { ...args, _: [] } as never,
        cmd: found.command,
        data: cli,
      });
    }
    return await ended(0);
  } catch (thrown) {
    if (thrown instanceof Exit) return ended(thrown.code, thrown.code === 0 ? undefined : "exit");
    if (thrown instanceof WaitingRequest && cli !== undefined) {
      const { approval, needs, message } = thrown;
      await cli.print({ approval, needs }, () => message);
      return ended(0);
    }
    const error = toSvcError(thrown);
    const text = error.kind === "internal" ? describeError(thrown) : error.message;
    messages.error(visible(text));
    return ended(meaningOf(error.kind).exit, error.kind);
  }
}

/** Cells of a line; programs that show the output of others, such as watch, say it in `COLUMNS`. */
function widthOfOutput({ stdout, env }: Machine): number | undefined {
  const cells = stdout.isTTY === true ? stdout.columns : Number(env.COLUMNS);
  return cells !== undefined && cells > 0 ? cells : undefined;
}

/** Whether the output is a terminal that has colors, and nobody switched them off. */
function showsColor({ stdout, env }: Machine): boolean {
  // NO_COLOR counts when it is set and not empty (no-color.org). A terminal without a name has no known sequences.
  return stdout.isTTY === true && !env.NO_COLOR && ![undefined, "", "dumb"].includes(env.TERM);
}

/** Says how many columns a table has no room for, and how to see them: short, as it stands below every narrow table. */
function hiddenHint(columns: number): string {
  return columns === 1
    ? "1 column is hidden: --wide shows it"
    : `${columns} columns are hidden: --wide shows them`;
}

/** @throws SvcError `usage` */
function connectTimeoutOf(text: unknown): number {
  const ms = readFlag(
    "--connect-timeout",
    String(text ?? globalArgs["connect-timeout"].default),
    parseDuration,
  );
  if (ms > 0) return ms;
  throw new SvcError("usage", "--connect-timeout must be longer than 0s");
}

/** Writes a result, or lets a pager show it where it is too long for the terminal. */
async function writeResult(machine: Machine, args: ArgValues, text: string): Promise<void> {
  const isOff = args["no-pager"] === true || args.follow === true || args.output !== "table";
  const command =
    machine.page === undefined ? undefined : pagerFor({ isOff, text }, machine, (name) => Bun.which(name));
  if (command !== undefined && (await withoutInterrupt(machine, async () => machine.page?.(command, text))))
    return;
  machine.stdout.write(text);
}

/** Ctrl-C in a pager is for the pager. */
async function withoutInterrupt<T>({ signals }: Machine, run: () => Promise<T>): Promise<T> {
  const ignore = () => {};
  signals?.on("SIGINT", ignore);
  try {
    return await run();
  } finally {
    signals?.off("SIGINT", ignore);
  }
}

function createCli(machine: Machine, args: ArgValues, messages: Messages, span: SpanOfCommand): Cli {
  // What a command writes in a form of its own is data.
  const output = outputFormats.find((one) => one === args.output) ?? "json";
  const width = widthOfOutput(machine);
  const hidden = new Set<string>();
  return {
    ...machine,
    ...messages,
    ...(typeof args.config === "string" ? { config: args.config } : {}),
    ...(typeof args.context === "string" ? { context: args.context } : {}),
    connectTimeoutMs: connectTimeoutOf(args["connect-timeout"]),
    output,
    color: args["no-color"] !== true && showsColor(machine),
    wide: args.wide === true,
    ...defined({ width }),
    span: span.span,
    noteHidden(heads) {
      for (const head of heads) hidden.add(head);
    },
    print: async (data, text, rows) => {
      await writeResult(machine, args, await formatResult(output, data, text, rows));
      // In a pipe nothing is hidden for want of room, and what reads it wants no hints.
      if (hidden.size > 0 && width !== undefined) messages.say(hiddenHint(hidden.size));
      hidden.clear();
    },
  };
}
