import type { CommandDef } from "citty";
import { SvcError } from "../../base/errors.ts";
import { suggestion } from "../../base/nearest.ts";
import { command, metaOf, word } from "../../program/command-line/mod.ts";
import { bashScript } from "./bash.ts";
import { fishScript } from "./fish.ts";
import { type Place, placesOf, withHelp } from "./places.ts";
import { zshScript } from "./zsh.ts";

const scripts = { bash: bashScript, zsh: zshScript, fish: fishScript } satisfies Record<
  string,
  (places: readonly Place[]) => string
>;
/** A shell with completion support. */
export type Shell = keyof typeof scripts;
const shells = Object.keys(scripts) as Shell[];

/**
 * Defines the command that writes the completion script of a shell, generated from the command tree.
 *
 * @param root the root of the tree, which includes this command
 */
export function completionCommand(root: () => CommandDef): CommandDef {
  return command({
    name: "completion",
    description: "Write the completion script of a shell.",
    examples: ["svc completion bash > /etc/bash_completion.d/svc"],
    args: { shell: word(shells.join(", "), { required: true }) },
    async run({ shell }, cli) {
      const found = shells.find((one) => one === shell);
      if (found === undefined) {
        const hint = suggestion(shell, shells);
        throw new SvcError("usage", `<shell> is ${shells.join(", ")}, not ${JSON.stringify(shell)}${hint}`);
      }
      cli.stdout.write(await completionScript(root(), found));
    },
  });
}

/** The completion script of a shell, for all commands of a tree. */
export async function completionScript(root: CommandDef, shell: Shell): Promise<string> {
  const { name } = metaOf(root);
  return scripts[shell](withHelp(await placesOf(root, name), name));
}
