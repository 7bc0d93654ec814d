import { callValue, compileArguments, compileExpression, composes } from "./compile-expression.ts";
import { type Compiling, type Evaluate, type Execute, type Frame, Used } from "./frame.ts";
import type { Parameter, Statement } from "./syntax/mod.ts";
import { textOf } from "./text.ts";
import { type Args, Callable, Fault, orElse, Tuple, Undefined, type Value, ValueMap } from "./values/mod.ts";

/** `macro`: a function whose value is what its body writes. */
export function compileMacro(statement: Statement & { kind: "macro" }, compiling: Compiling): Execute {
  const make = compileFunction(statement.name, statement.parameters, statement.body, compiling);
  return (frame) => void frame.set(statement.name, make(frame));
}

/** `call`: a macro is called with the block as its `caller`. */
export function compileCallBlock(
  statement: Statement & { kind: "call-block" },
  compiling: Compiling,
): Execute {
  const { call, parameters, body, at } = statement;
  if (call.kind !== "call") throw new Fault("expected a call");
  const make = compileFunction("caller", parameters, body, compiling);
  const callee = compileExpression(call.of, compiling.used);
  const args = compileArguments(call.args, compiling.used);
  return (frame) => {
    const { taint } = frame.run;
    const [called, { positional, named, used }] = [callee(frame), args(frame)];
    const caller = make(frame);
    frame.place(at);
    if (composes(called)) taint.used = 0;
    const given = { positional, named: new Map([...named, ["caller", caller]]), used: new Map(used) };
    given.used.delete("caller");
    const written = callValue(called, given, "call");
    frame.run.write(taint.written(textOf(written), false));
    return undefined;
  };
}

function compileFunction(
  name: string,
  parameters: readonly Parameter[],
  statements: Parameters<Compiling["body"]>[0],
  compiling: Compiling,
): (frame: Frame) => Callable {
  const used = new Used(compiling.used.isChecked);
  const body = compiling.body(statements, used);
  const compiled = parameters.map(({ name: parameter, fallback }) => ({
    name: parameter,
    fallback: fallback && compileExpression(fallback, used),
  }));
  for (const each of used) compiling.used.add(each);
  const takes = {
    varargs: used.has("varargs"),
    kwargs: used.has("kwargs"),
    caller: used.has("caller") || parameters.some((parameter) => parameter.name === "caller"),
  };
  const attributes = new Map<string, Value>([
    ["name", name],
    ["arguments", new Tuple(parameters.map((parameter) => parameter.name))],
    ["catch_kwargs", takes.kwargs],
    ["catch_varargs", takes.varargs],
    ["caller", takes.caller],
  ]);
  return (frame) =>
    new Callable(
      name,
      (args) => {
        const inner = frame.inner();
        bind(name, compiled, args, takes, inner);
        return frame.run.capture(() => frame.run.budget.within(() => void body(inner)));
      },
      { attributes, composes: true },
    );
}

function bind(
  macro: string,
  parameters: readonly { name: string; fallback: Evaluate | undefined }[],
  { positional, named, used }: Args,
  takes: { varargs: boolean; kwargs: boolean; caller: boolean },
  frame: Frame,
): void {
  const usedBy = (argument: number | string) => used?.get(argument) ?? 0;
  const extra = new Map(named);
  const caller = extra.get("caller");
  if (takes.caller) extra.delete("caller");
  for (const [at, { name, fallback }] of parameters.entries()) {
    const given = orElse(positional[at], extra.get(name));
    if (positional[at] === undefined) extra.delete(name);
    else if (extra.has(name)) throw new Fault(`macro '${macro}' got multiple values for argument '${name}'`);
    const unset = () => new Undefined(name, frame.run.surroundings.isLenient);
    if (given === undefined) frame.set(name, (fallback ?? unset)(frame));
    else frame.set(name, given, usedBy(positional[at] === undefined ? name : at));
    frame.run.taint.used = 0;
  }
  if (takes.caller && caller !== undefined) frame.set("caller", caller, usedBy("caller"));
  const more = positional.slice(parameters.length);
  if (more.length > 0 && !takes.varargs) {
    throw new Fault(`macro '${macro}' takes not more than ${parameters.length} argument(s)`);
  }
  const [unknown] = extra.keys();
  if (unknown !== undefined && !takes.kwargs) {
    throw new Fault(`macro '${macro}' takes no keyword argument '${unknown}'`);
  }
  const usedByAny = [...(used?.values() ?? [])].reduce((all, each) => all | each, 0);
  if (takes.varargs) frame.set("varargs", new Tuple(more), usedByAny);
  if (takes.kwargs) frame.set("kwargs", new ValueMap(extra), usedByAny);
}
