import type { Tag } from "../template/mod.ts";
import { closing, filtersOf, partsOf, splitAtTop } from "./expression.ts";

// What the names of templates can stand for, read from the templates alone. A name means the same in all files that
// include or import each other: that is coarser than the engine, but never less.

type Tokens = readonly string[];

interface Binding {
  /** The expressions that a name is bound to. */
  readonly values: Tokens[];
  macro: boolean;
  block: boolean;
  other: boolean;
  /** An imported file. */
  module: boolean;
  /** What it is called in the files that it is imported from. */
  readonly imported: string[];
  /** It holds whatever a caller gives. */
  unknown: boolean;
}

/** Names whose values come from the template engine or from the bus. */
const fixed = new Set([
  "id",
  "labels",
  "settings",
  "pillar",
  "range",
  "dict",
  "namespace",
  "loop",
  "cycler",
  "joiner",
]);
const rendering = new Set(["super", "caller", "self"]);
/** Further functions that every template has: a macro of the same name may not exist where it is called. */
const functions = new Set(["odict", "raise", "show_full_context"]);
/** What a macro was given beyond its parameters. */
const extras = new Set(["varargs", "kwargs"]);
const facts = new Set(["facts", "grains", "salt", "svc"]);
const name = /^[A-Za-z_]/;

/** The names of a group of files. */
export class Naming {
  private readonly bindings = new Map<string, Binding>();
  private reported = new Set<string>();
  private textual = new Set<string>();
  /** Macros by their parameters, and calls by the arguments. */
  private readonly macros = new Map<string, string[]>();
  private readonly mentioned = new Set<string>();
  /** Names of loops that call themselves with other items. */
  private readonly recursive = new Set<string>();
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
      else if (/^load_(?:yaml|json|text)$/.test(word)) open.push({ binding: this.bindData(rest) });
      else if (/^import_(?:yaml|json|text)$/.test(word)) this.bindData(rest);
      else if (word === "endmacro" || word === "endset" || word === "endload") open.pop();
    }
  }

  /** Follows values from name to name until nothing changes. */
  settle(): void {
    for (const [macro, params] of this.macros) {
      // Under another name it is called with anything.
      if (!this.mentioned.has(macro)) continue;
      for (const param of params) this.of(param).unknown = true;
    }
    for (let before = -1; before !== this.reported.size + this.textual.size; ) {
      before = this.reported.size + this.textual.size;
      for (const { name, args } of this.calls) this.passArguments(name, args);
      for (const [name, binding] of this.bindings) {
        const isText =
          (binding.macro || binding.block) &&
          !binding.other &&
          !binding.module &&
          binding.imported.length === 0;
        const usesTainted = binding.unknown || binding.values.some((value) => this.isTainted(value));
        if (usesTainted) (isText ? this.textual : this.reported).add(name);
        if (!isText && binding.values.some((value) => this.isTextual(value))) {
          this.textual.add(name);
          this.reported.add(name);
        }
        if (binding.macro && binding.other) this.reported.add(name);
      }
    }
  }

  /** Whether the value of an expression may have text of a fact in it. */
  isTainted(tokens: Tokens): boolean {
    const { names, isStrange } = partsOf(tokens);
    return isStrange || names.some((one) => this.isNameTainted(one.name) || this.isMemberTainted(one));
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
    // Under a name that is bound to something else, anything can be called.
    const isBound = this.bindings.get(first)?.other === true;
    if (at === 3) {
      return !isBound && (first === "self" || (this.isModule(first) && this.isText(base[2] ?? "", "macro")));
    }
    return !isBound && (rendering.has(first) || first === "loop" || this.isText(first, "macro"));
  }

  /** The names of facts, whose id is the one that the bus knows, cannot mean something else. */
  isMisused(name: string): boolean {
    return facts.has(name) && this.bindings.has(name);
  }

  private isText(name: string, kind: "macro" | "block", trail: readonly string[] = []): boolean {
    const binding = this.bindings.get(name);
    if (binding === undefined || trail.includes(name) || fixed.has(name) || functions.has(name)) return false;
    const { macro, block, other, module, imported } = binding;
    if (other || module || (kind === "macro" ? block : macro)) return false;
    const isOwn = kind === "macro" ? macro : block;
    return (
      (isOwn || imported.length > 0) && imported.every((each) => this.isText(each, kind, [...trail, name]))
    );
  }

  private isModule(name: string): boolean {
    return this.bindings.get(name)?.module === true;
  }

  private isNameTainted(name: string): boolean {
    if (
      facts.has(name) ||
      rendering.has(name) ||
      extras.has(name) ||
      this.reported.has(name) ||
      this.textual.has(name)
    )
      return true;
    return !fixed.has(name) && !this.bindings.has(name);
  }

  /** `module.name` has the value that the name has in the imported file, and a loop knows its neighbors. */
  private isMemberTainted({
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
    return this.isModule(name) && (attribute === undefined || this.isNameTainted(attribute));
  }

  private of(name: string): Binding {
    const known = this.bindings.get(name);
    if (known !== undefined) return known;
    const made = {
      values: [],
      imported: [],
      macro: false,
      block: false,
      other: false,
      module: false,
      unknown: false,
    };
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
    // A namespace has many names, so each one has what is set in any.
    if (targets.includes(".")) this.of("namespace").values.push(...value);
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
      if (rest.at(-1) === "recursive") this.recursive.add(target);
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

  /** Data of a text: text that contains facts is refused when it is read. */
  private bindData(rest: Tokens): Binding {
    const binding = this.of(rest[rest.lastIndexOf("as") + 1] ?? "");
    binding.other = true;
    return binding;
  }

  private bindModule(rest: Tokens): void {
    const binding = this.of(rest[rest.lastIndexOf("as") + 1] ?? "");
    binding.module = true;
  }

  private bindImported(rest: Tokens): void {
    for (const part of splitAtTop(rest.slice(rest.indexOf("import") + 1), ",")) {
      const [from = "", as, to] = part;
      if (as !== "as" || to === undefined || to === from) continue;
      const binding = this.of(to);
      binding.imported.push(from);
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
    const isCaller = ([first, second]: Tokens) => first === "**" || (first === "caller" && second === "=");
    if (args.some(isCaller)) this.of("caller").other = true;
    const isAgain = called === "loop";
    const params = isAgain ? [...this.recursive] : this.macros.get(called);
    if (params === undefined) return;
    for (const [at, arg] of args.entries()) {
      if (arg[0] === "*" || arg[0] === "**") for (const param of params) this.of(param).unknown = true;
      const isNamed = arg[1] === "=" && name.test(arg[0] ?? "");
      const given = isAgain ? params : isNamed ? arg.slice(0, 1) : params.slice(at, at + 1);
      const value = isNamed ? arg.slice(2) : arg;
      if (value.length === 0) continue;
      for (const param of given) {
        if (this.isTainted(value)) this.reported.add(param);
        if (this.isTextual(value)) this.textual.add(param);
      }
    }
  }
}

/** The names in an expression, without those after a dot. */
export function namesIn(tokens: Tokens): string[] {
  return tokens.filter((one, at) => name.test(one) && tokens[at - 1] !== ".");
}
