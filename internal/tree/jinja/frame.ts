import type { Budget } from "./budget.ts";
import type { Marks } from "./marks.ts";
import type { Statement } from "./syntax/mod.ts";
import type { Taint } from "./taint.ts";
import { type Args, Fault, type Value, type World } from "./values/mod.ts";

/** A compiled part of a template. It writes to the run of its frame. */
export type Execute = (frame: Frame) => Signal;
export type Evaluate = (frame: Frame) => Value;

/** How statements ended: to the end, or by `break` or `continue`. */
export type Signal = "break" | "continue" | undefined;

/** A template that can be rendered again and again. */
export interface Compiled {
  readonly name: string;
  readonly source: string;
  readonly body: Execute;
  readonly blocks: ReadonlyMap<string, Block>;
}

/** Names that a compiled part uses. */
export class Used extends Set<string> {
  /** Whether what fails in the part may be unknown rather than wrong. */
  readonly isChecked: boolean;

  constructor(isChecked: boolean) {
    super();
    this.isChecked = isChecked;
  }
}

export interface Block {
  readonly name: string;
  readonly body: Execute;
  readonly isRequired: boolean;
  readonly template: Compiled;
}

/** What is known while a template is compiled. */
export interface Compiling {
  /** Names that the compiled part uses. */
  readonly used: Used;
  /** Where blocks go. */
  readonly blocks: Map<string, Omit<Block, "template">>;
  /** Makes a function of statements. */
  body(statements: readonly Statement[], used?: Used): Execute;
}

export interface FilterTools {
  readonly run: Run;
  readonly frame: Frame;
}

export type Filter = (value: Value, args: Args, tools: FilterTools) => Value;
export type Test = (value: Value, args: Args, tools: FilterTools) => boolean;

/** What surrounds templates. */
export interface Surroundings {
  readonly filters: Readonly<Record<string, Filter>>;
  /** Filters of this rendering alone, which come first. */
  readonly ownFilters: Readonly<Record<string, Filter>>;
  readonly tests: Readonly<Record<string, Test>>;
  /** The text of data as a value. @throws Fault */
  parseData(format: (Statement & { kind: "load" })["format"], text: string): Value;
  /** What a template that is loaded compiles to. @throws Fault, SyntaxFault */
  load(name: string): Compiled | undefined;
  /** Whether there is no template of this name, rather than one that is not loaded yet. */
  isAbsent(name: string): boolean;
  /** A variable that every template has. */
  global(name: string): Value | undefined;
  /**
   * Variables that a template has which is loaded without context, such as its name.
   *
   * @param requested its name as the other template wrote it
   */
  ownVariables(name: string, requested: string): readonly (readonly [string, Value])[];
  /** Whether what is not defined is written as an empty text. */
  readonly isLenient: boolean;
  /** Called for each name that is not defined and was written as an empty text. */
  onUndefined(name: string, template: Compiled, at: number): void;
  /** Whether lists and maps stay as they were made: their methods that change them do not exist. */
  readonly isFixed: boolean;
  /** Present in a check: what fails because of what is unknown is unknown itself. */
  readonly world: World | undefined;
}

/** One rendering. */
export class Run {
  /** What was written so far. */
  out = "";
  /** Where the evaluation is, for errors. */
  template: Compiled | undefined;
  at = 0;

  readonly surroundings: Surroundings;
  readonly budget: Budget;
  readonly taint: Taint;
  /** Where what is written comes from; only where it is traced. */
  private readonly marks: Marks | undefined;

  constructor(surroundings: Surroundings, budget: Budget, taint: Taint, marks?: Marks) {
    this.surroundings = surroundings;
    this.budget = budget;
    this.taint = taint;
    this.marks = marks;
  }

  /** @param isSource whether the template has the text as it is written */
  write(text: string, isSource = false): void {
    this.budget.make(text.length);
    if (this.marks !== undefined && this.template !== undefined) {
      this.marks.add({ offset: this.out.length, template: this.template, at: this.at, isSource }, text);
    }
    this.out += text;
  }

  /** What something writes, in place of writing it. */
  capture(write: () => void): string {
    const before = this.out;
    const end = this.marks?.begin();
    const compose = this.taint.begin();
    this.out = "";
    try {
      write();
      compose(this.out);
      return this.out;
    } finally {
      end?.(this.out);
      this.out = before;
    }
  }
}

/** A template while it is rendered. */
export interface Rendering {
  readonly template: Compiled;
  /** The frame of its top level. */
  readonly root: Frame;
  /** By name, those of the templates that extend this one first. */
  readonly blocks: ReadonlyMap<string, readonly Block[]>;
  /** It extends this one; what was written before that stays. */
  parent?: { template: Compiled; before: string };
}

/** The variables of a scope, within those around it. */
export class Frame {
  private readonly variables = new Map<string, Value>();

  readonly run: Run;
  readonly around: Frame | undefined;
  private own: Rendering | undefined;
  /** Which variables were made of facts, or of text that contains them. The others are left out. */
  private used: Map<string, number> | undefined;

  constructor(run: Run, around: Frame | undefined, own: Rendering | undefined = around?.rendering) {
    this.run = run;
    this.around = around;
    this.own = own;
  }

  get rendering(): Rendering | undefined {
    return this.own;
  }

  /** Makes this the top level of a template. */
  renders(rendering: Rendering): void {
    this.own = rendering;
  }

  resolve(name: string): Value | undefined {
    for (let frame: Frame | undefined = this; frame !== undefined; frame = frame.around) {
      const value = frame.read(name);
      if (value !== undefined) return value;
    }
    return this.run.surroundings.global(name);
  }

  /** A variable of this scope itself. */
  read(name: string): Value | undefined {
    const used = this.used?.get(name);
    if (used !== undefined) this.run.taint.used |= used;
    return this.variables.get(name);
  }

  /** @param used what the value was made of */
  set(name: string, value: Value, used = this.run.taint.used): void {
    this.variables.set(name, value);
    if (used === 0) this.used?.delete(name);
    else {
      this.used ??= new Map();
      this.used.set(name, used);
    }
  }

  inner(): Frame {
    return new Frame(this.run, this, this.own);
  }

  /** Says where the evaluation is. */
  place(at: number): void {
    this.run.template = this.own?.template;
    this.run.at = at;
  }
}

/** @throws Fault for a name that there is not */
export function named<T>(table: Readonly<Record<string, T>>, name: string, what: "filter" | "test"): T {
  const found = Object.hasOwn(table, name) ? table[name] : undefined;
  if (found === undefined) throw new Fault(`unknown ${what}: ${name}`, { isFinal: true });
  return found;
}
