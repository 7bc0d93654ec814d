import type { CommandDef } from "citty";
import { describeError, meaningOf, toSvcError } from "../../base/errors.ts";
import { createMessages, type Messages } from "../../base/messages.ts";
import { version } from "../../base/version.ts";
import { WaitingRequest } from "../../base/waiting.ts";
import { type Cli, Exit, type Machine, nameOf } from "./command.ts";
import { type ArgValues, findCommand, parseValues } from "./parse.ts";
import { formatResult, type OutputFormat, visible } from "./print.ts";
import { formatUsage } from "./usage.ts";

export interface CliOptions extends Machine {
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
  const name = nameOf(tree);
  const messages = createMessages({ name, write: (text) => machine.stderr.write(text) });
  let cli: Cli | undefined;
  try {
    const found = await findCommand(tree, argv);
    if (found.help) machine.stdout.write(`${await formatUsage(found)}\n`);
    else if (found.version) machine.stdout.write(`${name} ${version}\n`);
    else {
      const args = parseValues(found);
      cli = createCli(machine, args, messages);
      await found.command.run?.({
        rawArgs: [...found.rest],
        args: { ...args, _: [] } as never,
        cmd: found.command,
        data: cli,
      });
    }
    return 0;
  } catch (thrown) {
    if (thrown instanceof Exit) return thrown.code;
    if (thrown instanceof WaitingRequest && cli !== undefined) {
      const { approval, needs, message } = thrown;
      await cli.print({ approval, needs }, () => message);
      return 0;
    }
    const error = toSvcError(thrown);
    const text = error.kind === "internal" ? describeError(thrown) : error.message;
    messages.error(visible(text));
    return meaningOf(error.kind).exit;
  }
}

function createCli(machine: Machine, args: ArgValues, messages: Messages): Cli {
  const output = args.output as OutputFormat;
  const { stdout, env } = machine;
  return {
    ...machine,
    ...messages,
    ...(typeof args.config === "string" ? { config: args.config } : {}),
    ...(typeof args.context === "string" ? { context: args.context } : {}),
    output,
    // NO_COLOR counts when it is set and not empty (no-color.org).
    color: stdout.isTTY === true && args["no-color"] !== true && !env.NO_COLOR,
    print: async (data, text) => {
      stdout.write(await formatResult(output, data, text));
    },
  };
}
