import { type Tag, tagsOf } from "../template/mod.ts";
import { closing, filtersOf, partsOf, splitAtTop } from "./expression.ts";
import { Naming, namesIn } from "./naming.ts";
import { connected, isReference, referenced } from "./template-groups.ts";

// Which expressions of templates can have text of a fact in their values, read from the templates alone.

type Tokens = readonly string[];

/** How the value of an `{{ … }}` gets into the rendered text. */
export type Use =
  /** It never has text of a fact in it. */
  | "plain"
  /** The text of a macro or block, which holds its own values already. */
  | "composed"
  /** It may be text of a fact. */
  | "told"
  /** The same, written by a filter as one YAML value. */
  | "told as data";

/** A place where something is wrong, or where a fact chooses. */
export interface Place {
  readonly line: number;
  readonly reason: string;
}

/** What is known of one template. */
export interface Dependence {
  readonly outputs: readonly { tag: Tag; use: Use; tokens: Tokens }[];
  /** What cannot be rendered safely. */
  readonly faults: readonly Place[];
  /** Conditions, loops and subscripts that use facts. */
  readonly choices: readonly Place[];
}

const serializers = new Set(["json", "tojson", "yaml", "yaml_encode", "yaml_dquote", "yaml_squote"]);

/** Analyses templates by path: those that include or import each other together. */
export function analyse(templates: ReadonlyMap<string, string>): Map<string, Dependence> {
  const tags = new Map([...templates].map(([path, text]) => [path, tagsOf(text)]));
  const found = new Map<string, Dependence>();
  for (const group of connected(tags)) {
    const names = new Naming();
    for (const path of group) names.bind(tags.get(path) ?? []);
    names.settle();
    for (const path of group) found.set(path, describe(tags.get(path) ?? [], names));
  }
  return found;
}

function describe(tags: readonly Tag[], names: Naming): Dependence {
  const outputs: { tag: Tag; use: Use; tokens: Tokens }[] = [];
  const faults: Place[] = [];
  const choices: Place[] = [];
  const choose = (line: number, tokens: Tokens, what: string) => {
    if (names.isTextual(tokens)) {
      faults.push({ line, reason: `${what} uses text that contains facts: use the fact itself` });
    }
    if (names.isTainted(tokens)) choices.push({ line, reason: `${what} uses facts` });
  };
  const chooseWithin = (line: number, tokens: Tokens): void => {
    for (const chooser of partsOf(tokens).choosers) {
      choose(line, chooser, "a condition");
      chooseWithin(line, chooser);
    }
  };
  for (const tag of tags) {
    const { kind, line, tokens } = tag;
    const [word = "", ...rest] = tokens;
    chooseWithin(line, kind === "output" ? tokens : rest);
    if (callsChooser(tokens)) choices.push({ line, reason: "a function that looks at facts chooses" });
    if (kind === "output") {
      const use = useOf(tokens, names);
      if (use !== "plain" && use !== "composed" && tokens.length > 1 && names.isTextual(tokens)) {
        faults.push({
          line,
          reason: "this expression uses text that contains facts: use the fact itself",
        });
      }
      outputs.push({ tag, use, tokens });
    } else if (word === "set" && splitAtTop(rest, "=").length > 1) {
      const value = rest.slice(rest.indexOf("=") + 1);
      if (value.length > 1 && names.isTextual(value) && !names.isComposed(value)) {
        faults.push({
          line,
          reason: "this expression uses text that contains facts: use the fact itself",
        });
      }
    } else if (word === "call") {
      const called = rest[0] === "(" ? rest.slice(closing(rest, 0) + 1) : rest;
      if (names.isTainted(called) && !names.isComposed(called)) {
        faults.push({ line, reason: "call: only a macro, by its own name, may be called with facts" });
      }
    } else if (word === "if" || word === "elif") choose(line, rest, "a condition");
    else if (word === "for") choose(line, rest.slice(rest.indexOf("in") + 1), "a loop");
    else if (word === "filter") {
      faults.push({
        line,
        reason: "filter blocks are not supported in settings: use the filter in an expression",
      });
    } else if (isReference(tag) && names.isTainted(referenced(tokens))) {
      faults.push({ line, reason: `${word}: the name of a file may not depend on facts` });
    }
    if (
      word === "set" ||
      word === "for" ||
      word === "with" ||
      word === "macro" ||
      word === "call" ||
      word === "from" ||
      /^(?:import|import_yaml|import_json|import_text|load_yaml|load_json|load_text)$/.test(word)
    ) {
      const misused =
        kind === "statement" ? namesIn(boundBy(word, rest)).find((one) => names.isMisused(one)) : undefined;
      if (misused !== undefined)
        faults.push({ line, reason: `${misused} cannot be assigned: use another name` });
    }
  }
  return { outputs, faults, choices };
}

/** Functions of `salt[…]` that choose nothing by facts. */
const plainFunctions =
  /^(?:(?:facts|grains|settings|pillar)\.get|(?:slsutil|defaults|log|test|file)\.[a-z_]+|mine\.get)$/;

/** Whether a function of `salt[…]` may choose a value by facts: all do that are not known as plain ones. */
function callsChooser(tokens: Tokens): boolean {
  return tokens.some((token, at) => {
    if ((token !== "salt" && token !== "svc") || tokens[at - 1] === ".") return false;
    const [open = "", word = "", dot = "", inner = ""] = tokens.slice(at + 1, at + 5);
    if (open === "[") return !plainFunctions.test(word.replace(/^["']|["']$/g, ""));
    if (open === "." && dot === ".") return !plainFunctions.test(`${word}.${inner}`);
    return true;
  });
}

/** The part of a statement that names what it binds. */
function boundBy(word: string, rest: Tokens): Tokens {
  if (word === "for") return rest.slice(0, rest.indexOf("in"));
  if (word === "from") return rest.slice(rest.indexOf("import") + 1);
  if (/^(?:import|load_)/.test(word)) return rest.slice(rest.lastIndexOf("as") + 1);
  if (word === "with") return splitAtTop(rest, ",").flatMap((part) => splitAtTop(part, "=")[0] ?? []);
  if (word === "call") {
    const params = rest[0] === "(" ? rest.slice(1, closing(rest, 0)) : [];
    return splitAtTop(params, ",").flatMap(([param = ""]) => [param]);
  }
  if (word === "macro")
    return splitAtTop(rest.slice(2, -1), ",").flatMap(([param = ""]) => [param, rest[0] ?? ""]);
  return splitAtTop(rest, "=")[0] ?? [];
}

function useOf(tokens: Tokens, names: Naming): Use {
  if (names.isComposed(tokens)) return "composed";
  if (!names.isTainted(tokens)) return "plain";
  const { filters } = filtersOf(tokens);
  const last = filters.filter(([filter]) => filter !== "indent").at(-1)?.[0] ?? "";
  return serializers.has(last) ? "told as data" : "told";
}
