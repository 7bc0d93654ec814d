import { idsCommand } from "../../program/command-line/mod.ts";
import { argumentCases, restCases, valueCases } from "./cases.ts";
import { type Place, pathsBelow, quoted, valuedPaths } from "./places.ts";

/** The branches of its `case`. */
const shell = {
  pattern: (text: string) => `${text})`,
  setWords: (values: readonly string[]) => `words=${quoted(values.join(" "))}`,
  first: 0,
};

/**
 * The completion script for bash. It does not use `compgen -W` for data from the bus: that would expand each
 * word like the shell does, including commands.
 */
export function bashScript(places: readonly Place[]): string {
  return `# Completion of svc for bash: source this file, or install it in the directory of bash-completion.
_svc() {
  local current=\${COMP_WORDS[COMP_CWORD]} at=svc taking="" words="" ids="" config="" position=0 i word
  local before="" lead="" given=()
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
      *)
        position=$((position + 1))
        given+=("$word")
        ;;
    esac
  done
  # Behind "name=", the word to complete is the value alone: readline takes = for a word of its own.
  if [[ $current == = ]]; then
    current="" lead="\${COMP_WORDS[COMP_CWORD - 1]}="
  elif ((COMP_CWORD > 1)) && [[ \${COMP_WORDS[COMP_CWORD - 1]} == = ]]; then
    lead="\${COMP_WORDS[COMP_CWORD - 2]}="
  fi
  current=\${current#[\\"\\']}
  if [[ -n $taking ]]; then
    case "$at $taking" in
${valueCases(places, shell)}
    esac
  else
    case "$at" in
${places.map(({ path, ...place }) => `      ${quoted(path)}) words=${quoted(choices(place))} ;;`).join("\n")}
    esac
    if [[ $current != -* ]]; then
      case "$at $position" in
${argumentCases(places, shell)}
      esac
      case "$at" in
${restCases(places, shell)}
      esac
    fi
  fi
  COMPREPLY=()
  if [[ -z $ids ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$current"))
    return
  fi
  compopt +o default 2>/dev/null
  if [[ -z $before ]]; then lead=""; fi
  while IFS=$'\\t' read -r word _; do
    if [[ $word == "$lead$current"* ]]; then COMPREPLY+=("\${word#"$lead"}"); fi
  done < <(command svc ${idsCommand} "$ids" "$lead$current" "$config" "$before" 2>/dev/null </dev/null)
  if [[ \${COMPREPLY[0]-} == *= ]]; then compopt -o nospace 2>/dev/null; fi
}
complete -o default -F _svc svc
`;
}

function choices({ commands, options }: Omit<Place, "path">): string {
  return [...commands, ...options].map(({ word }) => word).join(" ");
}
