import { idsCommand } from "../../program/command-line/mod.ts";
import { followsWord, type Place, pathsBelow, quoted, valuedPaths } from "./places.ts";

/** The completion script for fish. */
export function fishScript(places: readonly Place[]): string {
  return `# Completion of svc for fish: install this file as ~/.config/fish/completions/svc.fish.
# Prints the path of the current command, the number of its arguments so far, the value of --config, and the arguments.
function __svc_walk
  set -l at svc
  set -l position 0
  set -l taking ""
  set -l config ""
  set -l given
  set -l tokens (commandline -opc)
  set -e tokens[1]
  for word in $tokens
    if test -n "$taking"
      if test "$taking" = --config
        set config $word
      end
      set taking ""
      continue
    end
    switch "$at $word"
      case ${pathsBelow(places).map(quoted).join(" ")}
        set at "$at $word"
      case ${valuedPaths(places).map(quoted).join(" ")}
        set taking $word
      case "$at --config=*"
        set config (string replace -- --config= "" $word)
      case "$at -*"
      case "*"
        set position (math $position + 1)
        set -a given (string trim -c "\\"'" -- $word)
    end
  end
  string join \\n -- $at $position (string replace -r -- "^~/" "$HOME/" $config) $given
end
function __svc_at
  set -l walked (__svc_walk)
  test "$walked[1]" = "$argv"
end
function __svc_argument
  set -l walked (__svc_walk)
  test "$walked[2] $walked[1]" = "$argv"
end
function __svc_rest
  set -l walked (__svc_walk)
  test "$walked[1]" = "$argv[2..]"; and test "$walked[2]" -ge $argv[1]
end
function __svc_ids
  set -l current (commandline -ct | string replace -r "^--[a-z-]+=" "" | string trim -l -c "\\"'")
  string match -q -- "-*" "$current"; and return
  set -l walked (__svc_walk)
  command svc ${idsCommand} $argv[1] "$current" "$walked[3]" "$walked[$argv[2]]" 2>/dev/null </dev/null
end
${places.flatMap(linesOf).join("\n")}
`;
}

function linesOf({ path, commands, options, valued, arguments: found, rest }: Place): string[] {
  const here = `-n ${quoted(`__svc_at ${path}`)}`;
  return [
    ...commands.map(({ word, text }) => `complete -c svc ${here} -f -a ${word} -d ${quoted(text)}`),
    ...options.map(({ word, text }) => {
      const taken = valued.find(({ option }) => option === word);
      return `complete -c svc ${here} -l ${word.slice(2)}${valuePart(taken)} -d ${quoted(text)}`;
    }),
    ...found.map(({ position, ids }) => {
      // In front of the arguments, the walk has three values.
      const before = followsWord({ position, ids }) ? ` ${3 + position}` : "";
      return `complete -c svc -n ${quoted(`__svc_argument ${position} ${path}`)} -f -a ${quoted(`(__svc_ids ${ids}${before})`)}`;
    }),
    ...(rest === undefined ? [] : [restLine(path, rest)]),
  ];
}

function valuePart(taken: Place["valued"][number] | undefined): string {
  if (taken === undefined) return "";
  if (taken.ids !== undefined) return ` -x -a ${quoted(`(__svc_ids ${taken.ids})`)}`;
  return taken.values.length === 0 ? " -r" : ` -x -a ${quoted(taken.values.join(" "))}`;
}

/** Where all remaining words have one kind, which the word before the first of them decides. */
function restLine(path: string, { position, ids }: NonNullable<Place["rest"]>): string {
  // In front of the arguments, the walk has three values.
  const offered = quoted(`(__svc_ids ${ids} ${3 + position})`);
  return `complete -c svc -n ${quoted(`__svc_rest ${position} ${path}`)} -f -a ${offered}`;
}
