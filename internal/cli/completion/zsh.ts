import { idsCommand } from "../../program/command-line/mod.ts";
import { type Place, pathsBelow, quoted, valuedPaths } from "./places.ts";

/** The completion script for zsh. */
export function zshScript(places: readonly Place[]): string {
  return `#compdef svc
# Completion of svc for zsh: install this file as _svc in a directory of $fpath, or source it after compinit.
_svc() {
  local at=svc taking="" ids="" config="" word
  local -i position=0
  local -a found
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
      (*) position+=1 ;;
    esac
  done
  config=\${config/#\\~\\//$HOME/}
  if [[ -z $taking && \${words[CURRENT]} == --*=* ]]; then
    taking=\${words[CURRENT]%%=*}
    compset -P '*='
  fi
  if [[ -n $taking ]]; then
    case "$at $taking" in
${valueCases(places)}
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
${argumentCases(places)}
      esac
    fi
  fi
  if [[ -n $ids ]]; then
    found=("\${(@f)$(command svc ${idsCommand} "$ids" "\${(Q)PREFIX}" "$config" 2>/dev/null </dev/null)}")
    found=("\${(@)\${found:#}/$'\\t'/:}")
    _describe $ids found
  elif ((\${#found})); then
    _describe svc found
  else
    _files
  fi
}
if [[ \${funcstack[1]} == _svc ]]; then _svc "$@"; else compdef _svc svc; fi
`;
}

function valueCases(places: readonly Place[]): string {
  return places
    .flatMap(({ path, valued }) =>
      valued.flatMap(({ option, values, ids }) => {
        if (ids === undefined && values.length === 0) return [];
        const set = ids === undefined ? `found=(${values.map(quoted).join(" ")})` : `ids=${ids}`;
        return [`      (${quoted(`${path} ${option}`)}) ${set} ;;`];
      }),
    )
    .join("\n");
}

function argumentCases(places: readonly Place[]): string {
  return places
    .flatMap(({ path, arguments: found }) =>
      found.map(({ position, ids }) => `        (${quoted(`${path} ${position}`)}) ids=${ids} ;;`),
    )
    .join("\n");
}
