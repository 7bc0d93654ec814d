import type { ArgDef, ArgsDef, CommandDef } from "citty";
import { SvcError } from "../base/errors.ts";
import { suggestion } from "../base/nearest.ts";
import { childrenOf, command, metaOf } from "./command.ts";
import { globalArgs } from "./globals.ts";

const shells = ["bash", "zsh", "fish"] as const;
type Shell = (typeof shells)[number];

/** A word that may be next, and what it is for. */
interface Choice {
  word: string;
  text: string;
}

/** A place in the tree of commands. */
interface Place {
  /** `svc job list` */
  path: string;
  commands: readonly Choice[];
  options: readonly Choice[];
  /** What may follow an option: its values, or nothing that is known here, such as the name of a file. */
  values: readonly { option: string; values: readonly string[] }[];
}

/**
 * Defines the command that writes the completion of a shell, made from the commands there are.
 *
 * @param root all of them, this one included
 */
export function completionCommand(root: () => CommandDef): CommandDef {
  return command({
    name: "completion",
    description: "Write the completion of svc for a shell.",
    args: { shell: { type: "positional", required: true, description: shells.join(", ") } },
    async run({ shell }, cli) {
      const found = shells.find((one) => one === shell);
      if (found === undefined) {
        const hint = suggestion(shell, shells);
        throw new SvcError("usage", `<shell> is ${shells.join(", ")}, not ${JSON.stringify(shell)}${hint}`);
      }
      cli.stdout.write(scripts[found](await placesOf(root(), metaOf(root()).name)));
    },
  });
}

async function placesOf(place: CommandDef, path: string): Promise<Place[]> {
  const children = (await childrenOf(place)) ?? [];
  const declared: ArgsDef = { ...((place.args ?? {}) as ArgsDef), ...globalArgs };
  const options = Object.entries(declared).filter(([, { type }]) => type !== "positional");
  const here: Place = {
    path,
    commands: children.map((child) => ({ word: metaOf(child).name, text: metaOf(child).description })),
    options: options.map(([name, { description = "" }]) => ({ word: `--${name}`, text: description })),
    values: options
      .filter(([, { type }]) => type !== "boolean")
      .map(([name, definition]) => ({ option: `--${name}`, values: valuesOf(definition) })),
  };
  const below = children.map((child) => placesOf(child, `${path} ${metaOf(child).name}`));
  return [here, ...(await Promise.all(below)).flat()];
}

function valuesOf(definition: ArgDef): readonly string[] {
  return definition.type === "enum" ? (definition.options ?? []) : [];
}

const scripts: Record<Shell, (places: readonly Place[]) => string> = { bash, zsh, fish };

function bash(places: readonly Place[]): string {
  return `# Completion of svc in bash: source this file, or put it where bash-completion looks for it.
_svc() {
  local current=\${COMP_WORDS[COMP_CWORD]} before=\${COMP_WORDS[COMP_CWORD-1]} at=svc words="" i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$at \${COMP_WORDS[i]}" in
      ${pathsBelow(places).map(quoted).join("|")}) at="$at \${COMP_WORDS[i]}" ;;
    esac
  done
  case "$at $before" in
${valueCases(places, (values) => `words=${quoted(values.join(" "))}`)}
    *)
      case "$at" in
${places
  .map(
    ({ path, ...place }) =>
      `        ${quoted(path)}) words=${quoted(
        choicesOf(place)
          .map(({ word }) => word)
          .join(" "),
      )} ;;`,
  )
  .join("\n")}
      esac
      ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}
complete -o default -F _svc svc
`;
}

function zsh(places: readonly Place[]): string {
  return `#compdef svc
# Completion of svc in zsh: put this file as _svc into a directory of $fpath, or source it after compinit.
_svc() {
  local at=svc word
  local -a found
  for word in "\${(@)words[2,CURRENT-1]}"; do
    case "$at $word" in
      (${pathsBelow(places).map(quoted).join("|")}) at="$at $word" ;;
    esac
  done
  case "$at \${words[CURRENT-1]}" in
${valueCases(places, (values) => `found=(${values.map(quoted).join(" ")})`)}
    (*)
      case "$at" in
${places
  .map(({ path, ...place }) => {
    const items = choicesOf(place).map(({ word, text }) => quoted(`${word}:${text}`));
    return `        (${quoted(path)}) found=(${items.join(" ")}) ;;`;
  })
  .join("\n")}
      esac
      ;;
  esac
  if ((\${#found})); then _describe svc found; else _files; fi
}
if [[ \${funcstack[1]} == _svc ]]; then _svc "$@"; else compdef _svc svc; fi
`;
}

function fish(places: readonly Place[]): string {
  const lines = places.flatMap(({ path, commands, options, values }) => {
    const here = `-n ${quoted(`__svc_at ${path.split(" ").slice(1).join(" ")}`.trim())}`;
    return [
      ...commands.map(({ word, text }) => `complete -c svc ${here} -f -a ${word} -d ${quoted(text)}`),
      ...options.map(({ word, text }) => {
        const known = values.find(({ option }) => option === word);
        const value =
          known === undefined
            ? ""
            : known.values.length === 0
              ? " -r"
              : ` -x -a ${quoted(known.values.join(" "))}`;
        return `complete -c svc ${here} -l ${word.slice(2)}${value} -d ${quoted(text)}`;
      }),
    ];
  });
  return `# Completion of svc in fish: put this file as svc.fish into ~/.config/fish/completions.
function __svc_at
  set -l at ""
  set -l wanted ""
  for word in $argv
    set wanted "$wanted $word"
  end
  for word in (commandline -opc)[2..-1]
    switch "$at $word"
      case ${pathsBelow(places)
        .map((path) => quoted(path.slice("svc".length)))
        .join(" ")}
        set at "$at $word"
    end
  end
  test "$at" = "$wanted"
end
${lines.join("\n")}
`;
}

/** The cases of \`path option\` whose next word is a value. */
function valueCases(places: readonly Place[], set: (values: readonly string[]) => string): string {
  return places
    .flatMap(({ path, values }) =>
      values.map((value) => `    (${quoted(`${path} ${value.option}`)}) ${set(value.values)} ;;`),
    )
    .join("\n");
}

function choicesOf({ commands, options }: Omit<Place, "path">): readonly Choice[] {
  return [...commands, ...options];
}

function pathsBelow(places: readonly Place[]): string[] {
  return places.slice(1).map(({ path }) => path);
}

/** A word as shells read it, whatever is in it. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
