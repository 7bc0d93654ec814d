import { callValue, compileArguments, compileExpression } from "./compile-expression.ts";
import { type Compiling, type Evaluate, type Execute, type Frame, Used } from "./frame.ts";
import type { Parameter, Statement } from "./syntax/mod.ts";
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
    const [called, { positional, named }] = [callee(frame), args(frame)];
    const caller = make(frame);
    frame.place(at);
    const written = callValue(called, { positional, named: new Map([...named, ["caller", caller]]) }, "call");
    frame.run.write(String(written));
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
      attributes,
    );
}

function bind(
  macro: string,
  parameters: readonly { name: string; fallback: Evaluate | undefined }[],
  { positional, named }: Args,
  takes: { varargs: boolean; kwargs: boolean; caller: boolean },
  frame: Frame,
): void {
  const extra = new Map(named);
  const caller = extra.get("caller");
  if (takes.caller) extra.delete("caller");
  for (const [at, { name, fallback }] of parameters.entries()) {
    const given = orElse(positional[at], extra.get(name));
    if (positional[at] === undefined) extra.delete(name);
    else if (extra.has(name)) throw new Fault(`macro '${macro}' got multiple values for argument '${name}'`);
    const unset = () => new Undefined(name, frame.run.surroundings.isLenient);
    frame.set(name, given === undefined ? (fallback ?? unset)(frame) : given);
  }
  if (takes.caller && caller !== undefined) frame.set("caller", caller);
  const more = positional.slice(parameters.length);
  if (more.length > 0 && !takes.varargs) {
    throw new Fault(`macro '${macro}' takes not more than ${parameters.length} argument(s)`);
  }
  const [unknown] = extra.keys();
  if (unknown !== undefined && !takes.kwargs) {
    throw new Fault(`macro '${macro}' takes no keyword argument '${unknown}'`);
  }
  if (takes.varargs) frame.set("varargs", new Tuple(more));
  if (takes.kwargs) frame.set("kwargs", new ValueMap(extra));
}
