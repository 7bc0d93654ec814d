import type { CommandDef } from "citty";
import { command, formatUsage, placeNamed, word } from "../program/command-line/mod.ts";

/**
 * Defines the command that shows the help of another one, as `--help` behind it does.
 *
 * @param root the root of the tree, which includes this command
 */
export function helpCommand(root: () => CommandDef): CommandDef {
  return command({
    name: "help",
    description: "Show the help of a command.",
    examples: ["svc help job list"],
    args: { command: word("The command, such as job list", { rest: true }) },
    async run({ command: { words, literal } }, cli) {
      const found = await placeNamed(root(), [...words, ...literal]);
      cli.stdout.write(`${await formatUsage(found, cli.width)}\n`);
    },
  });
}
