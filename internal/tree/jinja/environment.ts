import { Budget } from "./budget.ts";
import { compile } from "./compile.ts";
import { listFilters } from "./filters-list.ts";
import { textFilters } from "./filters-text.ts";
import { type Compiled, type Filter, Frame, Run, type Surroundings, type Test } from "./frame.ts";
import { builtins } from "./globals.ts";
import type { Marks } from "./marks.ts";
import { renderTemplate } from "./rendering.ts";
import { SyntaxFault } from "./syntax/mod.ts";
import { Taint } from "./taint.ts";
import { tests } from "./tests.ts";
import { Fault, orElse, type Value, type World } from "./values/mod.ts";

/** Why a template could not be rendered, and where. */
export class JinjaError extends Error {
  readonly template: string;
  /** Both counted from 1. */
  readonly line: number;
  readonly column: number;
  readonly undefinedName: string | undefined;
  /** Templates that are needed and not loaded. */
  readonly missing: readonly string[];

  constructor(message: string, place: { template: string; source: string; at: number }, fault?: Fault) {
    super(message, { cause: fault });
    const before = place.source.slice(0, place.at).split("\n");
    this.template = place.template;
    this.line = before.length;
    this.column = (before.at(-1)?.length ?? 0) + 1;
    this.undefinedName = fault?.undefinedName;
    this.missing = fault?.missing ?? [];
  }
}

/** What templates have in addition to what Jinja gives them. */
export interface EnvironmentOptions {
  filters?: Readonly<Record<string, Filter>>;
  tests?: Readonly<Record<string, Test>>;
  /** @throws Fault */
  parseData: Surroundings["parseData"];
  /** Whether renderings may be checks: templates then take more time. */
  isChecked?: boolean;
}

/** One rendering, as its caller wants it. */
export interface Rendered {
  /** Name of the template. */
  name: string;
  /** The text of a template; `undefined` when it is not loaded. */
  text(name: string): string | undefined;
  /** Whether there is no template of this name; all that are not loaded, unless given. */
  isAbsent?(name: string): boolean;
  /** A variable that every template has; computed once for each use. @param budget of this rendering */
  global(name: string, budget: Budget): Value | undefined;
  /**
   * Variables that a template has which is loaded without context; none unless given. @param requested as it was
   * written
   */
  ownVariables?(name: string, requested: string): readonly (readonly [string, Value])[];
  /** Filters of this rendering alone. */
  filters?: Readonly<Record<string, Filter>>;
  /** Whether what is not defined is written as an empty text. */
  isLenient?: boolean;
  /** Called for each name that is not defined and was written as an empty text. */
  onUndefined?(name: string, place: { template: string; line: number }): void;
  /** Whether lists and maps stay as they were made. */
  isFixed?: boolean;
  /** What may be used; a new one unless given. */
  budget?: Budget;
  /** The text of data as a value, in place of the function of the environment. @throws Fault */
  parseData?: Surroundings["parseData"];
  /** What may not become structure; nothing unless given. */
  taint?: Taint;
  /** What is assumed of what is unknown, in an environment for checks. */
  world?: World | undefined;
  /** Gets where each part of the text comes from, in an environment for checks. */
  marks?: Marks | undefined;
}

/** Renders templates, and remembers how the last ones compile. */
export interface Environment {
  /** @throws JinjaError */
  render(rendered: Rendered): string;
}

/** How many compiled templates are remembered. */
const maxRemembered = 1_000;

export function createEnvironment({
  filters,
  tests: more,
  parseData,
  isChecked = false,
}: EnvironmentOptions): Environment {
  const compiled = new Map<string, Compiled>();
  const allFilters = { ...textFilters, ...listFilters, ...filters };
  const allTests = { ...tests, ...more };
  const compiledOf = (name: string, source: string): Compiled => {
    const known = compiled.get(name);
    if (known?.source === source) return known;
    const fresh = compile(name, source, isChecked);
    if (compiled.size >= maxRemembered) compiled.clear();
    compiled.set(name, fresh);
    return fresh;
  };
  return {
    render({
      name,
      text,
      global,
      isAbsent = () => true,
      ownVariables = () => [],
      filters: ownFilters = {},
      isLenient = false,
      onUndefined,
      isFixed = false,
      parseData: parse = parseData,
      budget = new Budget(),
      taint = new Taint(),
      world,
      marks,
    }) {
      let functions: ReadonlyMap<string, Value> | undefined;
      const builtin = (each: string): Value | undefined => {
        functions ??= builtins(budget, taint);
        return functions.get(each);
      };
      /** The template whose text is read as one, for errors. */
      let reading: { template: string; source: string } = { template: name, source: "" };
      const load = (each: string): Compiled | undefined => {
        const written = text(each);
        if (written === undefined) return undefined;
        const source = normalized(written);
        const before = reading;
        reading = { template: each, source };
        const loaded = compiledOf(each, source);
        reading = before;
        return loaded;
      };
      const surroundings: Surroundings = {
        ...{ filters: allFilters, ownFilters, tests: allTests },
        ...{ parseData: parse, load, isAbsent, ownVariables, isLenient, isFixed },
        world,
        onUndefined(undefinedName, template, at) {
          const line = lineAt(template.source, at);
          onUndefined?.(undefinedName, { template: template.name, line });
        },
        global: (each) => orElse(global(each, budget), builtin(each)),
      };
      marks?.clear();
      const run = new Run(surroundings, budget, taint, marks);
      try {
        const template = load(name);
        if (template === undefined) throw new Fault(`the template ${name} does not exist`);
        renderTemplate(template, new Frame(run, undefined));
        return run.out;
      } catch (thrown) {
        throw placed(thrown, run, reading);
      }
    },
  };
}

/** As Jinja reads a template: with line feeds alone, and without the one at its end. */
function normalized(source: string): string {
  const lines = source.includes("\r") ? source.replace(/\r\n?/g, "\n") : source;
  return lines.endsWith("\n") ? lines.slice(0, -1) : lines;
}

function lineAt(source: string, at: number): number {
  return source.slice(0, at).split("\n").length;
}

function placed(thrown: unknown, run: Run, reading: { template: string; source: string }): unknown {
  if (thrown instanceof SyntaxFault) return new JinjaError(thrown.message, { ...reading, at: thrown.at });
  const place =
    run.template === undefined
      ? { ...reading, at: 0 }
      : { template: run.template.name, source: run.template.source, at: run.at };
  // The stack of this process ends before the limits of the budget do when values are nested very deeply.
  if (thrown instanceof RangeError) return new JinjaError("recursion limit exceeded", place);
  return thrown instanceof Fault ? new JinjaError(thrown.message, place, thrown) : thrown;
}
