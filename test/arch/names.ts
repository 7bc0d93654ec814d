import { basename } from "node:path";
import { isCode, parse, type Source, type Violation } from "./source.ts";

/** Words that no name consists of, and what the field calls it. */
interface Family {
  words: readonly string[];
  instead: string;
}

/** A name that is not ours to choose, where it is used, and whose it is. */
export interface Given {
  name: string;
  where: RegExp;
  by: string;
}

const families: readonly Family[] = [
  {
    words: ["ask", "asks", "asked", "asking", "asker", "askers"],
    instead: "request, query, prompt or fetch",
  },
  { words: ["look", "looks", "looked", "looking"], instead: "check, inspect, probe, read or find" },
  { words: ["keeper", "keepers", "keeping"], instead: "store, controller or reconciler" },
  { words: ["tell", "tells", "told", "telling"], instead: "report, notify or publish" },
  { words: ["hear", "hears", "heard", "hearing"], instead: "receive, subscribe or see" },
  { words: ["most", "least", "longest", "shortest"], instead: "max and min" },
];

/** Words that say nothing alone, and are verbs before a noun: `keepAlive`. */
const alone: readonly Family[] = [{ words: ["keep", "keeps"], instead: "store, retain or maintain" }];

/** Names of formats, libraries and data. */
export const given: readonly Given[] = [
  {
    name: "asker",
    where: /approvals|events\/publish|require-operator|forger|written|bench\/(?:dispatch|lists)/,
    by: "the record of an approval",
  },
  { name: "asking", where: /rollout/, by: "a step of the record of a rollout" },
  { name: "asks", where: /^test\/bench\//, by: "a flag of benches" },
  { name: "keep", where: /purge-subject/, by: "JetStream" },
  { name: "lookingAt", where: /tree\/targets\/pattern/, by: "re2js" },
  { name: "tell", where: /host\/facts\/custom\.test/, by: "a fact of the test" },
  {
    name: "told",
    where: /settings\/compile\.test|e2e\/(?:facts|schedule)\.test/,
    by: "a setting of the test",
  },
];

/** Names of code, and of its files, that are made of such a word, and givens that nobody uses. */
export function checkVocabulary(sources: Source[], exceptions: readonly Given[]): Violation[] {
  const unused = new Set(exceptions);
  const found = sources.filter(isCode).flatMap((source) => {
    const { path } = source;
    const isGiven = (name: string) => {
      const exception = exceptions.find((one) => one.name === name && one.where.test(path));
      if (exception !== undefined) unused.delete(exception);
      return exception !== undefined;
    };
    const file = basename(path).split(".")[0] ?? "";
    return [...parse(source).names, file].flatMap((name): Violation[] => {
      const family = familyOf(name);
      if (family === undefined || isGiven(name)) return [];
      return [{ path, problem: `has the name ${name}; use ${family.instead}` }];
    });
  });
  const problem = ({ name, by }: Given) => `no file needs ${name} of ${by} any more; remove it`;
  return [...found, ...[...unused].map((one) => ({ path: "test/arch/names.ts", problem: problem(one) }))];
}

function familyOf(name: string): Family | undefined {
  // Fields of formats are written in snake_case: people and other programs know them.
  if (name.includes("_")) return undefined;
  const words = name.match(/[A-Z]?[a-z]+|[A-Z]+(?![a-z])/g)?.map((word) => word.toLowerCase()) ?? [];
  const family = families.find((one) => one.words.some((word) => words.includes(word)));
  return family ?? alone.find((one) => one.words.includes(name));
}
