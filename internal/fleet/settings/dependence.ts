import { closing, filtersOf, partsOf, splitAtTop } from "./expression.ts";
import { type Tag, tagsOf } from "./template-tags.ts";

// Which expressions of templates can have text of a fact in their values, read from the templates alone. A name
// means the same in all files that include or import each other: that is coarser than the engine, but never less.

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

interface Binding {
  /** The expressions that a name is bound to. */
  readonly values: Tokens[];
  macro: boolean;
  block: boolean;
  other: boolean;
  /** An imported file. */
  module: boolean;
  /** It holds whatever a caller gives. */
  unknown: boolean;
}

/** Names whose values come from the template engine or from the bus. */
const fixed = new Set(["id", "settings", "pillar", "range", "dict", "namespace", "loop", "cycler", "joiner"]);
const rendering = new Set(["super", "caller", "self"]);
const facts = new Set(["facts", "grains", "salt", "svc"]);
const serializers = new Set(["json", "tojson", "yaml", "yaml_encode", "yaml_dquote", "yaml_squote"]);
const name = /^[A-Za-z_]/;

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

/** Groups of files that include or import each other; one group when a name is computed. */
function connected(tags: ReadonlyMap<string, readonly Tag[]>): string[][] {
  const groupOf = new Map([...tags.keys()].map((path) => [path, new Set([path])]));
  const join = (a: string, b: string) => {
    const [one, other] = [groupOf.get(a), groupOf.get(b)];
    if (one === undefined || other === undefined || one === other) return;
    for (const path of other) groupOf.set(path, one.add(path));
  };
  for (const [path, each] of tags) {
    for (const { tokens } of each.filter(isReference)) {
      const literals = referenced(tokens).filter((one) => /^["']/.test(one));
      const isLiteral = referenced(tokens).every((one) => /^["'[\],()]/.test(one));
      if (!isLiteral) for (const other of tags.keys()) join(path, other);
      for (const literal of literals) join(path, literal.slice(1, -1).replace(/^(?:salt|svc):\/\//, ""));
    }
  }
  return [...new Set(groupOf.values())].map((group) => [...group]);
}

function isReference({ kind, tokens: [first = ""] }: Tag): boolean {
  return kind === "statement" && /^(?:include|import|from|extends)$/.test(first);
}

/** The expression in a reference that names the file. */
function referenced([kind, ...rest]: Tokens): Tokens {
  const enders = kind === "from" ? ["import"] : kind === "import" ? ["as"] : ["ignore", "with", "without"];
  const end = rest.findIndex((one) => enders.includes(one));
  return end < 0 ? rest : rest.slice(0, end);
}

/** The names of a group of files. */
class Naming {
  private readonly bindings = new Map<string, Binding>();
  private told = new Set<string>();
  private textual = new Set<string>();
  /** Macros by their parameters, and calls by the arguments. */
  private readonly macros = new Map<string, string[]>();
  private readonly mentioned = new Set<string>();
  private readonly calls: { name: string; args: Tokens[] }[] = [];

  bind(tags: readonly Tag[]): void {
    const open: { binding: Binding | undefined }[] = [];
    for (const { kind, tokens } of tags) {
      this.noteCalls(tokens);
      if (kind === "output") {
        for (const { binding } of open) if (binding !== undefined) binding.values.push(tokens);
        continue;
      }
      const [word = "", ...rest] = tokens;
      if (word === "set") this.bindSet(rest, open);
      else if (word === "for") this.bindFor(rest);
      else if (word === "with") for (const part of splitAtTop(rest, ",")) this.bindAssignment(part);
      else if (word === "macro") open.push({ binding: this.bindMacro(rest) });
      else if (word === "call") this.bindCall(rest);
      else if (word === "import") this.bindModule(rest);
      else if (word === "from") this.bindImported(rest);
      else if (word === "endmacro" || word === "endset") open.pop();
    }
  }

  /** Follows values from name to name until nothing changes. */
  settle(): void {
    for (const [macro, params] of this.macros) {
      // Under another name it is called with anything.
      if (!this.mentioned.has(macro)) continue;
      for (const param of params) this.of(param).unknown = true;
    }
    for (let before = -1; before !== this.told.size + this.textual.size; ) {
      before = this.told.size + this.textual.size;
      for (const { name, args } of this.calls) this.passArguments(name, args);
      for (const [name, binding] of this.bindings) {
        const isText = (binding.macro || binding.block) && !binding.other;
        const usesTold = binding.unknown || binding.values.some((value) => this.isTold(value));
        if (usesTold) (isText ? this.textual : this.told).add(name);
        if (!isText && binding.values.some((value) => this.isTextual(value))) {
          this.textual.add(name);
          this.told.add(name);
        }
        if (binding.macro && binding.other) this.told.add(name);
      }
    }
  }

  /** Whether the value of an expression may have text of a fact in it. */
  isTold(tokens: Tokens): boolean {
    const { names, isStrange } = partsOf(tokens);
    return isStrange || names.some((one) => this.isNameTold(one.name) || this.isMemberTold(one));
  }

  /** Whether a text with held values is in the value. */
  isTextual(tokens: Tokens): boolean {
    return partsOf(tokens).names.some(
      ({ name, attribute }) =>
        this.textual.has(name) ||
        (attribute !== undefined && this.isModule(name) && this.textual.has(attribute)),
    );
  }

  /** Whether the value is the text of a macro or a block as it is. */
  isComposed(tokens: Tokens): boolean {
    const { base, filters } = filtersOf(tokens);
    if (!filters.every(([filter]) => filter === "indent" || filter === "trim" || filter === "safe"))
      return false;
    const [first = "", second = ""] = base;
    if (base.length === 1) return this.isText(first, "block");
    const at = second === "." ? 3 : 1;
    if (base[at] !== "(" || closing(base, at) !== base.length - 1) return false;
    if (at === 3) return first === "self" || (this.isModule(first) && this.isText(base[2] ?? "", "macro"));
    return rendering.has(first) || first === "loop" || this.isText(first, "macro");
  }

  /** The names of facts, whose id is the one that the bus knows, cannot mean something else. */
  isMisused(name: string): boolean {
    return facts.has(name) && this.bindings.has(name);
  }

  private isText(name: string, kind: "macro" | "block"): boolean {
    const binding = this.bindings.get(name);
    return (
      binding !== undefined &&
      !binding.other &&
      binding[kind] &&
      !binding[kind === "macro" ? "block" : "macro"]
    );
  }

  private isModule(name: string): boolean {
    return this.bindings.get(name)?.module === true;
  }

  private isNameTold(name: string): boolean {
    if (facts.has(name) || rendering.has(name) || this.told.has(name) || this.textual.has(name)) return true;
    return !fixed.has(name) && !this.bindings.has(name);
  }

  /** `module.name` has the value that the name has in the imported file, and a loop knows its neighbors. */
  private isMemberTold({
    name,
    attribute,
    isCalled,
  }: {
    name: string;
    attribute: string | undefined;
    isCalled: boolean;
  }) {
    if (name === "loop")
      return attribute === undefined ? !isCalled : /^(?:previtem|nextitem)$/.test(attribute);
    return this.isModule(name) && (attribute === undefined || this.isNameTold(attribute));
  }

  private of(name: string): Binding {
    const known = this.bindings.get(name);
    if (known !== undefined) return known;
    const made = { values: [], macro: false, block: false, other: false, module: false, unknown: false };
    this.bindings.set(name, made);
    return made;
  }

  private bindSet(rest: Tokens, open: { binding: Binding | undefined }[]): void {
    if (splitAtTop(rest, "=").length > 1) {
      this.bindAssignment(rest);
      return;
    }
    const [target = "", ...filters] = rest;
    const binding = this.of(target);
    // A filter would work on the held values.
    if (filters.length === 0) binding.block = true;
    else binding.unknown = binding.other = true;
    open.push({ binding });
  }

  private bindAssignment(tokens: Tokens): void {
    const [targets = [], ...value] = splitAtTop(tokens, "=");
    for (const target of namesIn(targets)) {
      const binding = this.of(target);
      binding.other = true;
      binding.values.push(...value);
    }
  }

  private bindFor(rest: Tokens): void {
    const at = rest.indexOf("in");
    for (const target of namesIn(rest.slice(0, at))) {
      const binding = this.of(target);
      binding.other = true;
      binding.values.push(rest.slice(at + 1));
    }
  }

  private bindMacro([macro = "", ...rest]: Tokens): Binding {
    const params = splitAtTop(rest.slice(1, -1), ",").filter(([param]) => param !== undefined);
    for (const [param = "", , ...fallback] of params) {
      const binding = this.of(param);
      binding.other = true;
      if (fallback.length > 0) binding.values.push(fallback);
    }
    const known = this.macros.get(macro);
    const names = params.map(([param = ""]) => param);
    // Two macros of one name: what is given to one counts for both.
    this.macros.set(macro, known === undefined ? names : [...known, ...names]);
    if (known !== undefined) for (const param of this.macros.get(macro) ?? []) this.of(param).unknown = true;
    const binding = this.of(macro);
    binding.macro = true;
    return binding;
  }

  private bindCall(rest: Tokens): void {
    if (rest[0] !== "(") return;
    for (const param of namesIn(rest.slice(1, closing(rest, 0)))) {
      const binding = this.of(param);
      binding.other = binding.unknown = true;
    }
  }

  private bindModule(rest: Tokens): void {
    const binding = this.of(rest[rest.lastIndexOf("as") + 1] ?? "");
    binding.other = binding.module = true;
  }

  private bindImported(rest: Tokens): void {
    for (const part of splitAtTop(rest.slice(rest.indexOf("import") + 1), ",")) {
      const [from = "", as, to] = part;
      if (as !== "as" || to === undefined || to === from) continue;
      const binding = this.of(to);
      binding.other = true;
      binding.values.push([from]);
    }
  }

  private noteCalls(tokens: Tokens): void {
    for (let at = 0; at < tokens.length; at++) {
      const called = tokens[at] ?? "";
      if (!name.test(called) || tokens[at - 1] === "macro") continue;
      if (tokens[at + 1] !== "(") {
        // An import under its own name gives it no other one.
        if (tokens[0] !== "from" || tokens[at + 1] === "as") this.mentioned.add(called);
        continue;
      }
      this.calls.push({ name: called, args: splitAtTop(tokens.slice(at + 2, closing(tokens, at + 1)), ",") });
    }
  }

  private passArguments(called: string, args: readonly Tokens[]): void {
    const params = this.macros.get(called);
    if (params === undefined) return;
    for (const [at, arg] of args.entries()) {
      if (arg[0] === "*" || arg[0] === "**") for (const param of params) this.of(param).unknown = true;
      const isNamed = arg[1] === "=" && name.test(arg[0] ?? "");
      const param = isNamed ? arg[0] : params[at];
      const value = isNamed ? arg.slice(2) : arg;
      if (param === undefined || value.length === 0) continue;
      if (this.isTold(value)) this.told.add(param);
      if (this.isTextual(value)) this.textual.add(param);
    }
  }
}

function namesIn(tokens: Tokens): string[] {
  return tokens.filter((one, at) => name.test(one) && tokens[at - 1] !== ".");
}

function describe(tags: readonly Tag[], names: Naming): Dependence {
  const outputs: { tag: Tag; use: Use; tokens: Tokens }[] = [];
  const faults: Place[] = [];
  const choices: Place[] = [];
  const choose = (line: number, tokens: Tokens, what: string) => {
    if (names.isTextual(tokens)) {
      faults.push({ line, reason: `${what} uses text in which facts are held: use the fact itself` });
    }
    if (names.isTold(tokens)) choices.push({ line, reason: `${what} uses facts` });
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
    if (kind === "output") {
      const use = useOf(tokens, names);
      if (use !== "plain" && use !== "composed" && tokens.length > 1 && names.isTextual(tokens)) {
        faults.push({
          line,
          reason: "this expression uses text in which facts are held: use the fact itself",
        });
      }
      outputs.push({ tag, use, tokens });
    } else if (word === "set" && splitAtTop(rest, "=").length > 1) {
      const value = rest.slice(rest.indexOf("=") + 1);
      if (value.length > 1 && names.isTextual(value) && !names.isComposed(value)) {
        faults.push({
          line,
          reason: "this expression uses text in which facts are held: use the fact itself",
        });
      }
    } else if (word === "if" || word === "elif") choose(line, rest, "a condition");
    else if (word === "for") choose(line, rest.slice(rest.indexOf("in") + 1), "a loop");
    else if (word === "filter") {
      faults.push({
        line,
        reason: "filter blocks are not supported in settings: use the filter in an expression",
      });
    } else if (isReference(tag) && names.isTold(referenced(tokens))) {
      faults.push({ line, reason: `${word}: the name of a file may not depend on facts` });
    }
    if (
      word === "set" ||
      word === "for" ||
      word === "with" ||
      word === "macro" ||
      word === "from" ||
      word === "import"
    ) {
      const misused =
        kind === "statement" ? namesIn(boundBy(word, rest)).find((one) => names.isMisused(one)) : undefined;
      if (misused !== undefined)
        faults.push({ line, reason: `${misused} cannot be assigned: use another name` });
    }
  }
  return { outputs, faults, choices };
}

/** The part of a statement that names what it binds. */
function boundBy(word: string, rest: Tokens): Tokens {
  if (word === "for") return rest.slice(0, rest.indexOf("in"));
  if (word === "from") return rest.slice(rest.indexOf("import") + 1);
  if (word === "import") return rest.slice(rest.lastIndexOf("as") + 1);
  if (word === "with") return splitAtTop(rest, ",").flatMap((part) => splitAtTop(part, "=")[0] ?? []);
  if (word === "macro")
    return splitAtTop(rest.slice(2, -1), ",").flatMap(([param = ""]) => [param, rest[0] ?? ""]);
  return splitAtTop(rest, "=")[0] ?? [];
}

function useOf(tokens: Tokens, names: Naming): Use {
  if (names.isComposed(tokens)) return "composed";
  if (!names.isTold(tokens)) return "plain";
  const { filters } = filtersOf(tokens);
  const last = filters.filter(([filter]) => filter !== "indent").at(-1)?.[0] ?? "";
  return serializers.has(last) ? "told as data" : "told";
}
