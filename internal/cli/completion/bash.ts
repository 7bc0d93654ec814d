import { idsCommand } from "../../program/command-line/mod.ts";
import { type Place, pathsBelow, quoted, valuedPaths } from "./places.ts";

/**
 * The completion script for bash. It does not use `compgen -W` for data from the bus: that would expand each
 * word like the shell does, including commands.
 */
export function bashScript(places: readonly Place[]): string {
  return `# Completion of svc for bash: source this file, or install it in the directory of bash-completion.
_svc() {
  local current=\${COMP_WORDS[COMP_CWORD]} at=svc taking="" words="" ids="" config="" position=0 i word
  for ((i = 1; i < COMP_CWORD; i++)); do
    word=\${COMP_WORDS[i]}
    if [[ -n $taking ]]; then
      if [[ $word == = ]]; then continue; fi
      if [[ $taking == --config ]]; then config=\${word/#\\~\\//$HOME/}; fi
      taking=""
      continue
    fi
    case "$at $word" in
      ${pathsBelow(places).map(quoted).join("|")}) at="$at $word" ;;
      ${valuedPaths(places).map(quoted).join("|")}) taking=$word ;;
      "$at -"*) ;;
      *) position=$((position + 1)) ;;
    esac
  done
  if [[ $current == = ]]; then current=""; fi
  current=\${current#[\\"\\']}
  if [[ -n $taking ]]; then
    case "$at $taking" in
${valueCases(places)}
    esac
  else
    case "$at" in
${places.map(({ path, ...place }) => `      ${quoted(path)}) words=${quoted(choices(place))} ;;`).join("\n")}
    esac
    if [[ $current != -* ]]; then
      case "$at $position" in
${argumentCases(places)}
      esac
    fi
  fi
  COMPREPLY=()
  if [[ -z $ids ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$current"))
    return
  fi
  compopt +o default 2>/dev/null
  while IFS=$'\\t' read -r word _; do
    if [[ $word == "$current"* ]]; then COMPREPLY+=("$word"); fi
  done < <(command svc ${idsCommand} "$ids" "$current" "$config" 2>/dev/null </dev/null)
}
complete -o default -F _svc svc
`;
}

function choices({ commands, options }: Omit<Place, "path">): string {
  return [...commands, ...options].map(({ word }) => word).join(" ");
}

function valueCases(places: readonly Place[]): string {
  return places
    .flatMap(({ path, valued }) =>
      valued.flatMap(({ option, values, ids }) => {
        if (ids === undefined && values.length === 0) return [];
        const set = ids === undefined ? `words=${quoted(values.join(" "))}` : `ids=${ids}`;
        return [`      ${quoted(`${path} ${option}`)}) ${set} ;;`];
      }),
    )
    .join("\n");
}

function argumentCases(places: readonly Place[]): string {
  return places
    .flatMap(({ path, arguments: found }) =>
      found.map(({ position, ids }) => `        ${quoted(`${path} ${position}`)}) ids=${ids} ;;`),
    )
    .join("\n");
}
