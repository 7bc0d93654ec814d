import { beginningOf } from "../../base/cut.ts";
import { SvcError } from "../../base/errors.ts";
import { atLine } from "../../base/place.ts";
import { parseYaml, type YamlNode } from "../../base/yaml/yaml.ts";
import { oldWord, oldWordsIn } from "../../base/yaml/yaml-old-words.ts";
import { SettingsFault } from "./fault.ts";
import { templatesOf } from "./render.ts";
import { factUsesOf } from "./template-facts.ts";
import { groupsOf, readTop, topFile } from "./top.ts";
import type { SettingsTree } from "./tree.ts";

/** Words that YAML 1.1 reads as true or false; in a template, as far as that can be seen without rendering. */
export function warningsOf(tree: SettingsTree): string[] {
  const templates = templatesOf(tree);
  return [...tree.files].flatMap(([path, { text = "" }]) =>
    (templates.has(path) ? oldWordsInLines(text) : oldWordsInFile(text, path)).map(
      ({ line, message }) => `${atLine(path, line)}: ${message}`,
    ),
  );
}

interface Found {
  line: number;
  message: string;
}

function oldWordsInFile(text: string, path: string): Found[] {
  const quoted = new WeakSet<YamlNode>();
  try {
    const found = oldWordsIn(parseYaml(text, path, quoted), quoted);
    return found.map(({ at, message }) => ({ line: at.line, message }));
  } catch (thrown) {
    // What is not YAML is found when settings are compiled.
    if (thrown instanceof SvcError) return [];
    throw thrown;
  }
}

function oldWordsInLines(text: string): Found[] {
  return text.split("\n").flatMap((line, at) => {
    const [, word = ""] = /^(?:[^#]*\s)?(?:-|[^\s#:]+:)\s+([A-Za-z]+)\s*(?:#.*)?$/.exec(line) ?? [];
    const message = oldWord(word);
    return message === undefined ? [] : [{ line: at + 1, message }];
  });
}

/** One line `file:line: …` for each place where a fact chooses what a peel gets, in order. */
export function problemsOf(tree: SettingsTree): string[] {
  const templates = templatesOf(tree);
  const found = [...factUsesOf(templates)].flatMap(([path, { faults, choices, names }]) =>
    [...faults, ...choices, ...names].map(({ line, reason }) => ({
      path,
      line,
      text: `${path}:${line}: ${reason}`,
    })),
  );
  const sorted = found.sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : a.line - b.line));
  return [...new Set([...targetsByFacts(tree, templates), ...sorted.map(({ text }) => text)])];
}

/** Targets of a top file; of one that is a template, lines that look like them: it is not rendered here. */
function targetsByFacts(tree: SettingsTree, templates: ReadonlyMap<string, string>): string[] {
  const text = tree.files.get(topFile)?.text;
  if (text === undefined) return [];
  if (templates.has(topFile)) {
    return text
      .split("\n")
      .flatMap((line, at) =>
        /[GP]@|match:\s*(?:grain|fact)/.test(line) ? [`${topFile}:${at + 1}: the target uses facts`] : [],
      );
  }
  try {
    return readTop(parseYaml(text, topFile), topFile, () => groupsOf(tree))
      .targets.filter(({ usesFacts }) => usesFacts)
      .map(({ at, expression }) => `${at}: the target uses facts: ${beginningOf(expression, 80)}`);
  } catch (thrown) {
    if (thrown instanceof SettingsFault || thrown instanceof SvcError) return [thrown.message];
    throw thrown;
  }
}
