import type { Expression, Statement, Target } from "../jinja/syntax/mod.ts";
import { functionNameOf, isOwnId, namesOf, partsOf, withBodies } from "./template-parts.ts";

// What the names of templates may stand for, as far as that can be seen without rendering. A name means the same in all
// templates that load each other.

/** Names whose values may have facts in them, whatever a template binds. */
const ofFacts: ReadonlySet<string> = new Set([
  ...["facts", "grains", "salt", "svc", "show_full_context"],
  ...["varargs", "kwargs", "caller", "super", "self"],
]);
/** What gives the text of statements when it is called. */
const composers: ReadonlySet<string> = new Set(["caller", "super", "loop"]);
const facts: Expression = { kind: "name", name: "facts", at: 0 };

/** The names of templates that load each other. */
export class TemplateNames {
  private readonly bound = new Map<string, Expression[]>();
  private readonly parameters = new Map<string, string[]>();
  private readonly texts = new Set<string>();
  private readonly recursive: string[] = [];
  private readonly modules = new Set<string>();
  private readonly aliases = new Map<string, string>();
  private readonly usingFacts = new Set<string>();

  /** Binds what the statement binds. */
  add(statement: Statement): void {
    switch (statement.kind) {
      case "set":
        this.assign(statement.target, [statement.value]);
        break;
      case "set-block":
        this.text(namesOf(statement.target)[0] ?? "", statement.body);
        // A filter gives another value than the text.
        if (statement.filters.length > 0) this.assign(statement.target, [facts]);
        break;
      case "for":
        if (statement.isRecursive) this.recursive.push(...namesOf(statement.target));
        this.assign(statement.target, [statement.over]);
        break;
      case "with":
        for (const { target, value } of statement.bindings) this.assign(target, [value]);
        break;
      case "macro":
        this.addMacro(statement);
        break;
      case "call-block":
        for (const { name } of statement.parameters) this.bind(name, [facts]);
        break;
      case "import":
        this.modules.add(statement.name);
        break;
      case "from-import":
        for (const { name, as } of statement.names) {
          this.aliases.set(as, name);
          if (as !== name) this.bind(as, [{ kind: "name", name, at: statement.at }]);
        }
        break;
      default:
    }
  }

  private addMacro({ name, parameters, body }: Statement & { kind: "macro" }): void {
    this.text(name, body);
    const known = this.parameters.get(name) ?? [];
    this.parameters.set(name, [...known, ...parameters.map((parameter) => parameter.name)]);
    for (const parameter of parameters) {
      if (parameter.fallback !== undefined) this.bind(parameter.name, [parameter.fallback]);
      // Which of two macros of one name is called is not known.
      if (known.length > 0) this.bind(parameter.name, [facts]);
    }
  }

  /** Binds the parameters of macros to what an expression gives them. */
  addUses(expression: Expression): void {
    // Where it is not called it may get another name, by which it is called with anything.
    for (const name of this.parametersOf(expression)) this.bind(name, [facts]);
    const { values, choosers } = partsOf(expression);
    if (expression.kind === "call") this.addCall(expression);
    const isCall = expression.kind === "call" && this.parametersOf(expression.of).length > 0;
    for (const part of [...values.slice(isCall ? 1 : 0), ...choosers]) this.addUses(part);
  }

  private addCall({ of, args }: Expression & { kind: "call" }): void {
    const isAgain = nameOf(of) === "loop";
    const parameters = isAgain ? this.recursive : this.parametersOf(of);
    for (const [at, { kind, name, value }] of args.entries()) {
      const isAny = isAgain || kind === "list" || kind === "map";
      const given = isAny ? parameters : kind === "named" ? [name] : parameters.slice(at, at + 1);
      for (const each of given) this.bind(each, [value]);
    }
  }

  /** Follows values from name to name until nothing changes. */
  settle(): void {
    for (let before = -1; before !== this.usingFacts.size; ) {
      before = this.usingFacts.size;
      for (const [name, values] of this.bound) {
        if (!this.usingFacts.has(name) && values.some((value) => this.hasFacts(value)))
          this.usingFacts.add(name);
      }
    }
  }

  /** Whether a fact may be in the value, or in the text that it is. */
  hasFacts(expression: Expression): boolean {
    if (isOwnId(expression)) return false;
    if (expression.kind === "name") return this.isOfFacts(expression.name);
    if (expression.kind === "attribute" && expression.of.kind === "name") {
      const { of, name } = expression;
      if (of.name === "loop") return name === "previtem" || name === "nextitem";
      if (this.modules.has(of.name)) return this.isOfFacts(name);
    }
    const text = this.textIn(expression);
    if (text !== undefined) return this.isOfFacts(text);
    if (
      expression.kind === "call" &&
      /^(?:settings|pillar)\.get$/.test(functionNameOf(expression.of) ?? "")
    ) {
      return expression.args.some(({ value }) => this.hasFacts(value));
    }
    return partsOf(expression).values.some((value) => this.hasFacts(value));
  }

  /** The macro or block whose text the value is: a fact in it stands where that has it. */
  textIn(expression: Expression): string | undefined {
    const isCall = expression.kind === "call";
    const name = nameOf(isCall ? expression.of : expression) ?? "";
    const isText = this.texts.has(this.aliases.get(name) ?? name) || (isCall && composers.has(name));
    return isText ? name : undefined;
  }

  private isOfFacts(name: string): boolean {
    return ofFacts.has(name) || this.usingFacts.has(name);
  }

  private parametersOf(expression: Expression): readonly string[] {
    const name = nameOf(expression) ?? "";
    return this.parameters.get(name) ?? this.parameters.get(this.aliases.get(name) ?? "") ?? [];
  }

  private text(name: string, body: readonly Statement[]): void {
    this.texts.add(name);
    this.bind(name, outputsIn(body));
  }

  private assign(target: Target, values: readonly Expression[]): void {
    if (target.kind === "attribute") {
      // A namespace has many names, so each one has what is set in any.
      this.bind("namespace", values);
      this.bind(target.of, values);
    } else for (const name of namesOf(target)) this.bind(name, values);
  }

  private bind(name: string, values: readonly Expression[]): void {
    const known = this.bound.get(name);
    if (known === undefined) this.bound.set(name, [...values]);
    else known.push(...values);
  }
}

function outputsIn(body: readonly Statement[]): Expression[] {
  return [...withBodies(body)].flatMap((each) => (each.kind === "output" ? [each.value] : []));
}

/** The name of what is called: also that in a module. */
function nameOf(expression: Expression): string | undefined {
  if (expression.kind === "name") return expression.name;
  return expression.kind === "attribute" && expression.of.kind === "name" ? expression.name : undefined;
}
