import { idsCommand } from "../../program/command-line/mod.ts";
import { argumentCases, restCases, valueCases } from "./cases.ts";
import { type Place, pathsBelow, quoted, valuedPaths } from "./places.ts";

/** The branches of its `case`. */
const shell = {
  pattern: (text: string) => `(${text})`,
  setWords: (values: readonly string[]) => `found=(${values.map(quoted).join(" ")})`,
  first: 1,
};

/** The completion script for zsh. */
export function zshScript(places: readonly Place[]): string {
  return `#compdef svc
# Completion of svc for zsh: install this file as _svc in a directory of $fpath, or source it after compinit.
_svc() {
  local at=svc taking="" ids="" config="" before="" word
  local -i position=0
  local -a found given
  for word in "\${(@)words[2,CURRENT-1]}"; do
    if [[ -n $taking ]]; then
      if [[ $taking == --config ]]; then config=\${(Q)word}; fi
      taking=""
      continue
    fi
    case "$at $word" in
      (${pathsBelow(places).map(quoted).join("|")}) at="$at $word" ;;
      (${valuedPaths(places).map(quoted).join("|")}) taking=$word ;;
      ("$at --config="*) config=\${(Q)word#--config=} ;;
      ("$at -"*) ;;
      (*)
        position+=1
        given+=("\${(Q)word}")
        ;;
    esac
  done
  config=\${config/#\\~\\//$HOME/}
  if [[ -z $taking && \${words[CURRENT]} == --*=* ]]; then
    taking=\${words[CURRENT]%%=*}
    compset -P '*='
  fi
  if [[ -n $taking ]]; then
    case "$at $taking" in
${valueCases(places, shell)}
    esac
  else
    case "$at" in
${places
  .map(({ path, commands, options }) => {
    const items = [...commands, ...options].map(({ word, text }) => quoted(`${word}:${text}`));
    return `      (${quoted(path)}) found=(${items.join(" ")}) ;;`;
  })
  .join("\n")}
    esac
    if [[ \${words[CURRENT]} != -* ]]; then
      case "$at $position" in
${argumentCases(places, shell)}
      esac
      case "$at" in
${restCases(places, shell)}
      esac
    fi
  fi
  if [[ -n $ids ]]; then
    found=("\${(@f)$(command svc ${idsCommand} "$ids" "\${(Q)PREFIX}" "$config" "$before" 2>/dev/null </dev/null)}")
    found=("\${(@)\${found:#}/$'\\t'/:}")
    # A name is followed by its value, without a space.
    local -a pairs=("\${(@M)found:#*=:*}")
    found=("\${(@)found:#*=:*}")
    _describe $ids found -- pairs -S ""
  elif ((\${#found})); then
    _describe svc found
  else
    _files
  fi
}
if [[ \${funcstack[1]} == _svc ]]; then _svc "$@"; else compdef _svc svc; fi
`;
}
