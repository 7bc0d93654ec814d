import type { Rendered } from "./jinja.ts";

interface Difference {
  template: string;
  /** The text or the error. */
  ours: string;
  theirs: string;
}

/** Differences that are meant, with the reason. Any other one is a fault. */
const reasons: readonly (readonly [(difference: Difference) => boolean, string])[] = [
  [({ ours }) => ours.includes("too large for an integer"), "an integer beyond 2^53 is refused"],
  [({ theirs }) => /\bUndefined\b/.test(theirs), "a list with an undefined item cannot be written"],
  [
    ({ ours, template }) => ours.startsWith("undefined: ") && /%|pprint|\{!r\}/.test(template),
    "what is not defined is not formatted, even where its text is not used",
  ],
  [
    ({ ours }) => /^(?:odd|even|divisibleby): expected a number/.test(ours),
    "a text is not odd or even: Python would format it",
  ],
  [({ theirs }) => theirs.includes("Markup("), "no text is marked as safe"],
  [
    ({ theirs }) =>
      /<(?:function|generator|bound method|built-in|class|Macro|module)\b|0x[0-9a-f]{8}/.test(theirs),
    "objects of Python are written with their address",
  ],
  [
    ({ template, ours }) => /\bin \(+[({]/.test(template) && ours.startsWith("undefined: "),
    "what is not defined is not looked for, also in nothing",
  ],
  [
    ({ template, theirs }) =>
      markup.test(template) && (theirs === "NULL" || /&(?:lt|gt|amp|#3[49]);/.test(theirs)),
    "no text is marked as safe: what filters write is a text for the next filter",
  ],
  [
    ({ template, ours, theirs }) =>
      /\b(?:unique|compare_dicts|symmetric_difference)\b/.test(template) && itemsIn(ours) === itemsIn(theirs),
    "a set is a list here, in the order of its items",
  ],
  [
    ({ template, ours, theirs }) =>
      /\bunique\|(?:is_list|ipaddr)\b/.test(template) &&
      ((ours === "True" && theirs === "False") || (ours === "[]" && theirs === "None")),
    "a set is a list here, and filters that take a list take it",
  ],
  [
    ({ template, ours, theirs }) =>
      /\bunique\|yaml\b/.test(template) && theirs.startsWith("!!set") && /^(?:- |\[)/.test(ours),
    "a set is a list here, also in YAML",
  ],
  [
    ({ template, ours, theirs }) =>
      /\bdict_to_sls_yaml_params\b/.test(template) && ours.replaceAll(/'([-+.\deo]+)'/g, "$1") === theirs,
    "texts that YAML 1.2 reads as numbers have quotes",
  ],
  [
    ({ template, ours, theirs }) =>
      /\bquote\b[^|]*$/.test(template) && theirs === "''" && ["0", "0.0", "False"].includes(unquoted(ours)),
    "false and 0 are written for a shell, and not as nothing",
  ],
  [
    ({ ours, theirs }) => ours === "yaml_dquote: expected a string" && !/^[A-Z]\w*Error/.test(theirs),
    "none is quoted as a text in trees of Salt alone",
  ],
  [
    ({ ours, theirs }) => ours.startsWith("undefined: ") && theirs === "NULL",
    "what is not defined is not written as YAML",
  ],
  [({ theirs }) => /^(?:MemoryError|RecursionError|OverflowError)/.test(theirs), "a limit of Python"],
];

/** Filters whose text Salt marks as safe, with another filter behind them. */
const markup = /\b(?:json|tojson|yaml|python|dict_to_sls_yaml_params)(?:\([^)]*\))?\|/;

/** The characters of a written list or set in order, without its brackets. */
function itemsIn(written: string): string {
  return Array.from(written.replace(/[[\]{}]|^set\(\)$/g, ""))
    .sort()
    .join("");
}

/** A word without the quotes of a shell. */
function unquoted(word: string): string {
  return word.replace(/^'(.*)'$/, "$1");
}

/** Why results differ; `undefined` for a fault. */
export function reasonFor(template: string, ours: Rendered, theirs: Rendered): string | undefined {
  const difference = { template, ours: String(ours[0] ?? ours[1]), theirs: String(theirs[0] ?? theirs[1]) };
  return reasons.find(([holds]) => holds(difference))?.[1];
}
