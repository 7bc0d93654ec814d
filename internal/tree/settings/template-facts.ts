import { nameFrom } from "../jinja/mod.ts";
import { type Expression, parse, type Statement, SyntaxFault } from "../jinja/syntax/mod.ts";
import { choosesByFacts, treePath } from "../template/mod.ts";
import { TemplateNames } from "./template-names.ts";
import {
  expressionsOf,
  fileNameOf,
  functionNameOf,
  isSalt,
  partsOf,
  withBodies,
  withParts,
} from "./template-parts.ts";

// Where templates use facts, as far as that can be seen without rendering: for hints. The rendering itself decides.

/** A place where something is wrong, or where a fact chooses. */
export interface Place {
  readonly line: number;
  readonly reason: string;
}

/** What one template does with facts. */
export interface FactUses {
  /** What cannot be rendered. */
  readonly faults: readonly Place[];
  /** Conditions, loops and subscripts that use facts. */
  readonly choices: readonly Place[];
  /** Names of settings that a fact is in. */
  readonly names: readonly Place[];
}

interface Parsed {
  readonly path: string;
  readonly text: string;
  readonly statements: readonly Statement[];
  /** The expressions in the names of files that it loads. */
  readonly loads: readonly Expression[];
}

/** Examines templates by path: those that load each other together. What cannot be rendered either is left out. */
export function factUsesOf(templates: ReadonlyMap<string, string>): Map<string, FactUses> {
  const parsed = [...templates].flatMap(([path, text]) => unlessWrong(() => parsedOf(path, text)));
  const found = connected(parsed).flatMap((group) =>
    unlessWrong(() => {
      const names = namesIn(group);
      return group.map((each) => [each.path, usesIn(each, names)] as const);
    }),
  );
  return new Map(found);
}

/** Nothing where the syntax is wrong, or expressions are nested more deeply than the stack of this process allows. */
function unlessWrong<Item>(examine: () => Item[]): Item[] {
  try {
    return examine();
  } catch (thrown) {
    if (thrown instanceof SyntaxFault || thrown instanceof RangeError) return [];
    throw thrown;
  }
}

function parsedOf(path: string, written: string): Parsed[] {
  const text = written.replace(/\r\n?/g, "\n");
  const statements = [...withBodies(parse(text))];
  const loads = statements.flatMap((each) => {
    const name = fileNameOf(each);
    return name === undefined ? [] : [...withParts(name)];
  });
  return [{ path, text, statements, loads }];
}

function namesIn(group: readonly Parsed[]): TemplateNames {
  const names = new TemplateNames();
  const statements = group.flatMap((each) => each.statements);
  for (const statement of statements) names.add(statement);
  for (const statement of statements)
    for (const expression of expressionsOf(statement)) names.addUses(expression);
  names.settle();
  return names;
}

/** Groups of templates that load each other; one group when a name is computed. */
function connected(parsed: readonly Parsed[]): Parsed[][] {
  const groupOf = new Map(parsed.map((each) => [each.path, new Set([each])]));
  const join = (path: string, other: string) => {
    const [one, more] = [groupOf.get(path), groupOf.get(other)];
    if (one === undefined || more === undefined || one === more) return;
    for (const each of more) groupOf.set(each.path, one.add(each));
  };
  for (const { path, loads } of parsed) {
    for (const part of loads) {
      if (part.kind === "constant") join(path, treePath(nameFrom(path, String(part.value))));
      else if (part.kind !== "list" && part.kind !== "tuple")
        for (const { path: other } of parsed) join(path, other);
    }
  }
  return [...new Set(groupOf.values())].map((group) => [...group]);
}

const tags: Readonly<Record<string, string>> = { "from-import": "from", "import-data": "import" };
const namesFact = "the name of a setting may not depend on facts";

function usesIn({ text, statements }: Parsed, names: TemplateNames): FactUses {
  const faults: Place[] = [];
  const choices: Place[] = [];
  const found: Place[] = [];
  const lineOf = (at: number) => text.slice(0, at).split("\n").length;
  const choose = (chooser: Expression, what: string) => {
    if (names.hasFacts(chooser)) choices.push({ line: lineOf(chooser.at), reason: `${what} uses facts` });
  };
  for (const statement of statements) {
    const { kind, at } = statement;
    for (const expression of expressionsOf(statement)) {
      for (const part of withParts(expression))
        for (const each of partsOf(part).choosers) choose(each, "a condition");
      if (usesChooser(expression)) {
        choices.push({ line: lineOf(at), reason: "a function that looks at facts chooses" });
      }
      if (kind === "if") choose(expression, "a condition");
      if (kind === "for") choose(expression, "a loop");
    }
    const file = fileNameOf(statement);
    if (file !== undefined && names.hasFacts(file)) {
      const reason = `${tags[kind] ?? kind}: the name of a file may not depend on facts`;
      faults.push({ line: lineOf(at), reason });
    }
    if (kind === "filter-block") {
      faults.push({
        line: lineOf(at),
        reason: "filter blocks are not supported in settings: use the filter in an expression",
      });
    }
    if (kind === "output" && names.textIn(statement.value) === undefined && names.hasFacts(statement.value)) {
      if (isKey(text, at)) found.push({ line: lineOf(at), reason: namesFact });
    }
  }
  return { faults, choices, names: found };
}

/** Whether a function of `salt[…]` that may choose by facts is used. */
function usesChooser(expression: Expression): boolean {
  const name = functionNameOf(expression);
  if (name !== undefined) return choosesByFacts(name);
  const { values, choosers } = partsOf(expression);
  return isSalt(expression) || [...values, ...choosers].some(usesChooser);
}

/** Whether an output is in the name of a setting, as far as its line shows. */
function isKey(text: string, at: number): boolean {
  const withoutTags = (part: string) => part.replace(/\{[{%#].*?[}%#]\}/g, "");
  const from = text.lastIndexOf("{{", at);
  const to = text.indexOf("}}", at) + 2;
  const before = withoutTags(text.slice(text.lastIndexOf("\n", from) + 1, from));
  const end = text.indexOf("\n", to);
  const after = withoutTags(text.slice(to, end < 0 ? text.length : end));
  return /^[ \t?-]*["']?[^:#"'{[]*$/.test(before) && /^[^:#"',}\]]*["']?\s*:(?:\s|$)/.test(after);
}
