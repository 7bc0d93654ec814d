import { basename } from "node:path";
import { SvcError } from "../../../base/errors.ts";
import { waysOut } from "./argument-policy.ts";
import { type RuleSet, readRuleFiles, rulesOf } from "./load.ts";
import { unsafePlaces } from "./unsafe-places.ts";

type Texts = ReadonlyMap<string, string>;

/**
 * Checks a directory of rule files.
 *
 * @returns `problems`: a line `file:line: …` for each place where event data decides what a rule does, refused or
 *   allowed, and for each file with an error
 * @throws SvcError when the directory cannot be read
 */
export function lintRules(directory: string): { checked: number; problems: string[] } {
  const texts = new Map([...readRuleFiles(directory).texts].map(([path, text]) => [basename(path), text]));
  if (texts.size === 0)
    throw new SvcError("bad_request", `${directory}: does not exist or contains no rule files (*.yaml)`);
  const alone = [...texts].flatMap(([name, text]) => problemsOf(new Map([[name, text]]), openPlaces));
  // Errors between files, such as a name that two rules have.
  const together = problemsOf(texts, () => []);
  return { checked: texts.size, problems: [...new Set([...alone, ...together])] };
}

function problemsOf(texts: Texts, places: (rules: RuleSet) => string[]): string[] {
  try {
    return places(rulesOf({ digest: "", texts }));
  } catch (thrown) {
    if (!(thrown instanceof SvcError)) throw thrown;
    return [thrown.message.replace(/^([^:]+:\d+):\d+: /, "$1: ")];
  }
}

function openPlaces({ rules, refused }: RuleSet): string[] {
  const places = [
    ...refused.flatMap((rule) =>
      rule.places.map(({ line, text }) => ({ line, text: `${text}: ${waysOut}` })),
    ),
    ...rules.flatMap(unsafePlaces),
  ];
  return places.sort((a, b) => a.line - b.line).map(({ text }) => text);
}
