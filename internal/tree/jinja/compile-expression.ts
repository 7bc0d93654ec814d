import { beginningOf } from "../../base/cut.ts";
import { type Evaluate, type Frame, named, type Used } from "./frame.ts";
import { guardExpression } from "./guard.ts";
import { attributeOf } from "./methods.ts";
import { calculate, holds, itemOf, negate, sliceOf } from "./operators.ts";
import type { Argument, Comparison, Expression } from "./syntax/mod.ts";
import { textOf } from "./text.ts";
import type { Tools } from "./text-methods.ts";
import {
  type Args,
  Callable,
  defined,
  Facade,
  Fault,
  Float,
  isNumber,
  iterate,
  Missing,
  orElse,
  Tuple,
  toNumber,
  truthy,
  typeName,
  Undefined,
  Unknown,
  type Value,
  ValueMap,
} from "./values/mod.ts";
import { weigh, weighArgs } from "./weigh.ts";

type Of<Kind extends Expression["kind"]> = Expression & { kind: Kind };
type Compile = (each: Expression) => Evaluate;

/** Makes a function of an expression. */
export function compileExpression(expression: Expression, used: Used): Evaluate {
  const compiler = compilers[expression.kind] as (
    expression: Expression,
    ...rest: [Compile, Used]
  ) => Evaluate;
  const compiled = compiler(expression, (each) => compileExpression(each, used), used);
  const isPlain = expression.kind === "constant" || expression.kind === "name";
  return used.isChecked && !isPlain ? guardExpression(compiled, expression.at) : compiled;
}

function compileConstant(expression: Of<"constant">): Evaluate {
  const { value, isFloat } = expression;
  const constant = isFloat && Number.isInteger(value) ? new Float(value as number) : value;
  return () => constant;
}

function compileName(expression: Of<"name">, _: Compile, used: Used): Evaluate {
  const { name } = expression;
  used.add(name);
  return (frame) => {
    frame.run.budget.step();
    return orElse(frame.resolve(name), missing(frame, name));
  };
}

function compileItems(expression: Of<"list" | "tuple">, compile: Compile): Evaluate {
  const items = expression.items.map(compile);
  const isList = expression.kind === "list";
  return (frame) => {
    frame.run.budget.make(items.length);
    const values = items.map((item) => item(frame));
    return isList ? values : new Tuple(values);
  };
}

function compileMap(expression: Of<"map">, compile: Compile): Evaluate {
  const { at } = expression;
  const entries = expression.entries.map(([key, value]) => [compile(key), compile(value)] as const);
  return (frame) => {
    frame.run.budget.make(entries.length);
    const pairs = entries.map(([key, value]): [Value, Value] => [key(frame), value(frame)]);
    frame.place(at);
    return new ValueMap(pairs);
  };
}

function compileAttribute(expression: Of<"attribute">, compile: Compile): Evaluate {
  const { at } = expression;
  const [of, { name }] = [compile(expression.of), expression];
  const written = sourceOf(expression);
  return (frame) => {
    const value = of(frame);
    frame.place(at);
    frame.run.budget.step();
    const found = attributeOf(defined(value), name, toolsOf(frame));
    return orElse(found === undefined ? itemOf(value, name) : found, missing(frame, written));
  };
}

function compileItem(expression: Of<"item">, compile: Compile): Evaluate {
  const { at } = expression;
  const [of, key] = [compile(expression.of), compile(expression.key)];
  const written = sourceOf(expression);
  return (frame) => {
    const { taint } = frame.run;
    const value = of(frame);
    const { used: ofValue } = taint;
    taint.used = 0;
    const by = key(frame);
    frame.place(at);
    taint.chooseWithin(ofValue);
    frame.run.budget.step();
    defined(value);
    if (typeof value === "string") frame.run.budget.work(value.length);
    const found = itemOf(value, defined(by));
    if (found !== undefined) return found;
    const attribute = typeof by === "string" ? attributeOf(value, by, toolsOf(frame)) : undefined;
    return orElse(attribute, missing(frame, written));
  };
}

function compileSlice(expression: Of<"slice">, compile: Compile): Evaluate {
  const { at } = expression;
  const [of, parts] = [compile(expression.of), expression.parts.map((part) => part && compile(part))];
  return (frame) => {
    const [value, bounds] = [of(frame), parts.map((part) => part?.(frame))];
    frame.place(at);
    return sliceOf(value, bounds, frame.run.budget);
  };
}

function compileCall(expression: Of<"call">, compile: Compile, used: Used): Evaluate {
  const { at } = expression;
  const [of, args] = [compile(expression.of), compileArguments(expression.args, used)];
  const written = sourceOf(expression.of);
  return (frame) => {
    const { taint } = frame.run;
    const { used: before } = taint;
    taint.used = 0;
    const [callee, given] = [of(frame), args(frame)];
    frame.place(at);
    frame.run.budget.step();
    if (composes(callee)) taint.used = 0;
    const result = callValue(callee, given, written);
    taint.used |= before;
    return result;
  };
}

function compileFilter(expression: Of<"filter">, compile: Compile, used: Used): Evaluate {
  const { at } = expression;
  const [of, args] = [compile(expression.of), compileArguments(expression.args, used)];
  const { name } = expression;
  return (frame) => {
    const [value, given] = [of(frame), args(frame)];
    frame.place(at);
    return applyFilter(frame, name, value, given);
  };
}

function compileTest(expression: Of<"test">, compile: Compile, used: Used): Evaluate {
  const { at } = expression;
  const [of, args] = [compile(expression.of), compileArguments(expression.args, used)];
  const { name, negated } = expression;
  return (frame) => {
    const { taint } = frame.run;
    const { used: before } = taint;
    const value = of(frame);
    if (name === "defined" || name === "undefined") taint.forgetSecret(before);
    const given = args(frame);
    frame.place(at);
    taint.decide();
    return applyTest(frame, name, value, given) !== negated;
  };
}

function compileBinary(expression: Of<"binary">, compile: Compile): Evaluate {
  const { at } = expression;
  const [left, right, { operator }] = [compile(expression.left), compile(expression.right), expression];
  return (frame) => {
    const [one, other] = [left(frame), right(frame)];
    frame.place(at);
    frame.run.budget.step();
    return calculate(operator, one, other, frame.run.budget);
  };
}

function compileConcat(expression: Of<"concat">, compile: Compile): Evaluate {
  const { at } = expression;
  const parts = expression.parts.map(compile);
  return (frame) => {
    const values = parts.map((part) => part(frame));
    frame.place(at);
    const text = values.map(textOf).join("");
    frame.run.budget.make(text.length);
    return text;
  };
}

function compileCompare(expression: Of<"compare">, compile: Compile): Evaluate {
  const { at } = expression;
  const first = compile(expression.first);
  const rest = expression.rest.map(({ operator, value }) => ({ operator, value: compile(value) }));
  return (frame) => {
    let left = first(frame);
    for (const { operator, value } of rest) {
      const right = value(frame);
      frame.place(at);
      frame.run.budget.step();
      frame.run.taint.decide();
      if (!compared(operator, left, right, frame)) return false;
      left = right;
    }
    return true;
  };
}

function compared(operator: Comparison, left: Value, right: Value, { run }: Frame): boolean {
  const { world } = run.surroundings;
  const isUnknown = (value: Value) =>
    value instanceof Unknown || (typeof value === "string" && world?.isIn(value) === true);
  if (world === undefined || !(isUnknown(left) || isUnknown(right))) {
    return holds(operator, left, right, run.budget);
  }
  return world.truth !== (operator === "!=" || operator === "not in");
}

function compileLogic(expression: Of<"and" | "or">, compile: Compile): Evaluate {
  const { at } = expression;
  const [left, right] = [compile(expression.left), compile(expression.right)];
  const goesOn = expression.kind === "and";
  return (frame) => {
    const value = left(frame);
    frame.place(at);
    frame.run.taint.decide();
    return truthy(value) === goesOn ? right(frame) : value;
  };
}

function compileNot(expression: Of<"not">, compile: Compile): Evaluate {
  const { at } = expression;
  const of = compile(expression.of);
  return (frame) => {
    const value = of(frame);
    frame.place(at);
    frame.run.taint.decide();
    return !truthy(value);
  };
}

function compileSign(expression: Of<"minus" | "plus">, compile: Compile): Evaluate {
  const { at } = expression;
  const of = compile(expression.of);
  const isMinus = expression.kind === "minus";
  return (frame) => {
    const value = of(frame);
    frame.place(at);
    if (isMinus) return negate(value);
    if (isNumber(value)) return typeof value === "boolean" ? toNumber(value) : value;
    throw new Fault(`bad operand type for unary +: '${typeName(defined(value))}'`);
  };
}

function compileChoice(expression: Of<"choice">, compile: Compile): Evaluate {
  const { at } = expression;
  const [condition, yes] = [compile(expression.condition), compile(expression.yes)];
  const no = expression.no && compile(expression.no);
  return (frame) => {
    const { taint } = frame.run;
    const { used: before } = taint;
    taint.used = 0;
    const decides = condition(frame);
    frame.place(at);
    const holds = truthy(decides);
    taint.chooseWithin(before);
    if (holds) return yes(frame);
    return no === undefined ? new Undefined("", true) : no(frame);
  };
}

const compilers: {
  [Kind in Expression["kind"]]: (expression: Of<Kind>, compile: Compile, used: Used) => Evaluate;
} = {
  constant: compileConstant,
  name: compileName,
  list: compileItems,
  tuple: compileItems,
  map: compileMap,
  attribute: compileAttribute,
  item: compileItem,
  slice: compileSlice,
  call: compileCall,
  filter: compileFilter,
  test: compileTest,
  binary: compileBinary,
  concat: compileConcat,
  compare: compileCompare,
  and: compileLogic,
  or: compileLogic,
  not: compileNot,
  minus: compileSign,
  plus: compileSign,
  choice: compileChoice,
};

/** Makes a function of the arguments of a call. */
export function compileArguments(args: readonly Argument[], used: Used): (frame: Frame) => Args {
  if (args.length === 0) {
    const none: Args = { positional: [], named: new Map() };
    return () => none;
  }
  const compiled = args.map((arg) => ({ ...arg, value: compileExpression(arg.value, used) }));
  return (frame) => {
    const positional: Value[] = [];
    const byName = new Map<string, Value>();
    const { taint } = frame.run;
    let all = taint.used;
    let used: Map<number | string, number> | undefined;
    for (const { kind, name, value } of compiled) {
      taint.used = 0;
      const given = valuesOf(kind, name, value(frame));
      for (const [at, item] of given) {
        if (taint.used !== 0) {
          used ??= new Map();
          used.set(at ?? positional.length, taint.used);
        }
        if (at === undefined) positional.push(item);
        else byName.set(at, item);
      }
      all |= taint.used;
    }
    taint.used = all;
    return { positional, named: byName, used };
  };
}

/** The values that an argument gives, with their names. */
function valuesOf(kind: Argument["kind"], name: string, given: Value): [string | undefined, Value][] {
  if (kind === "positional") return [[undefined, given]];
  if (kind === "named") return [[name, given]];
  if (kind === "list") return iterate(given).map((item) => [undefined, item]);
  if (given instanceof ValueMap) return given.entries().map(([key, item]) => [textOf(key), item]);
  throw new Fault("** expects a map");
}

/** Whether a call gives what statements write: their own values are in it, and not those of the arguments. */
export function composes(callee: Value): boolean {
  return callee instanceof Callable ? callee.composes : callee instanceof Facade;
}

/** @throws Fault for what cannot be called */
export function callValue(callee: Value, args: Args, written: string): Value {
  if (callee instanceof Callable) return callee.call(args);
  if (callee instanceof Facade && callee.call !== undefined) return callee.call(args);
  throw new Fault(`'${typeName(defined(callee))}' object is not callable: ${written}`);
}

/** Filters that look at a list or a map without what is in its items, or that call filters which count these. */
const shallow: ReadonlySet<string> = new Set([
  ...[
    "attr",
    "count",
    "d",
    "default",
    "first",
    "is_iter",
    "is_list",
    "last",
    "length",
    "sequence",
    "traverse",
  ],
  ...["map", "reject", "rejectattr", "select", "selectattr"],
]);

/** @throws Fault */
export function applyFilter(frame: Frame, name: string, value: Value, args: Args): Value {
  const { run } = frame;
  run.budget.step();
  if (typeof value === "string" || !shallow.has(name)) {
    weigh(value, run.budget);
    weighArgs(args, run.budget);
  }
  const { filters, ownFilters, world } = run.surroundings;
  const filter = named(Object.hasOwn(ownFilters, name) ? ownFilters : filters, name, "filter");
  const isUnknown = world !== undefined && value instanceof Unknown;
  // A missing value has the default, and one that exists keeps its own.
  if (isUnknown && (world.truth || (name !== "default" && name !== "d"))) return value;
  const filtered = filter(value, args, { run, frame });
  if (world === undefined || typeof value !== "string" || typeof filtered !== "string") return filtered;
  // A filter may remove what is unknown from a text.
  return world.isIn(value) && !world.isIn(filtered) ? new Unknown(world) : filtered;
}

/** @throws Fault */
export function applyTest(frame: Frame, name: string, value: Value, args: Args): boolean {
  const { run } = frame;
  run.budget.step();
  if (typeof value === "string") run.budget.work(value.length);
  const test = named(run.surroundings.tests, name, "test");
  if (value instanceof Unknown) return value.truth !== (name === "undefined");
  return test(value, args, { run, frame });
}

/** What methods of values may use. */
export function toolsOf(frame: Frame): Tools {
  const tools: Tools = {
    budget: frame.run.budget,
    isFixed: frame.run.surroundings.isFixed,
    reach(of, key, isItem) {
      const at = isItem && /^\d+$/.test(key) ? Number(key) : key;
      const found = isItem
        ? itemOf(defined(of), at)
        : orElse(attributeOf(defined(of), key, tools), itemOf(of, key));
      if (found === undefined) throw new Fault(`undefined: ${key}`, { undefinedName: key });
      return found;
    },
  };
  return tools;
}

/** What a name that nothing defines gives. */
export function missing({ run }: Frame, name: string): Undefined {
  const { world, isLenient } = run.surroundings;
  return world === undefined ? new Undefined(name, isLenient) : new Missing(name, world);
}

const maxSource = 80;

/** An expression as the template has it, as far as names lead. */
function sourceOf(expression: Expression): string {
  const write = (each: Expression): string => {
    switch (each.kind) {
      case "name":
        return each.name;
      case "constant":
        return typeof each.value === "string" ? `'${each.value}'` : String(each.value);
      case "attribute":
        return `${write(each.of)}.${each.name}`;
      case "item":
        return `${write(each.of)}[${write(each.key)}]`;
      case "call":
        return `${write(each.of)}(…)`;
      case "filter":
        return `${write(each.of)}|${each.name}`;
      default:
        return "(…)";
    }
  };
  return beginningOf(write(expression), maxSource);
}
