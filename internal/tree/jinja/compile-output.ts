import { applyFilter, compileArguments, compileExpression } from "./compile-expression.ts";
import type { Compiling, Evaluate, Execute, Frame, Used } from "./frame.ts";
import type { Expression, Statement } from "./syntax/mod.ts";
import { textOf } from "./text.ts";
import { Undefined } from "./values/mod.ts";

/** Filters that write a value as one value of YAML. */
const serializers: ReadonlySet<string> = new Set([
  ...["json", "tojson", "yaml", "yaml_encode", "yaml_dquote", "yaml_squote"],
]);
/** Filters that leave the words of a composed text as they are. */
const harmless: ReadonlySet<string> = new Set(["indent", "trim", "safe"]);

export function compileOutput(statement: Statement & { kind: "output" }, { used }: Compiling): Execute {
  const { at, value } = statement;
  const [whole, guarded] = [compileExpression(value, used), compileGuarded(value, used)];
  const isData = isSerialized(value);
  return (frame) => {
    const { taint } = frame.run;
    const written = (taint.isGuarded ? guarded : whole)(frame);
    frame.place(at);
    frame.run.budget.step();
    if (written instanceof Undefined && written.isLenient) reportUndefined(frame, written, at);
    frame.run.write(taint.written(textOf(written), isData));
    return undefined;
  };
}

function isSerialized(value: Expression): boolean {
  if (value.kind !== "filter") return false;
  return value.name === "indent" ? isSerialized(value.of) : serializers.has(value.name);
}

/** The value where words may take the place of texts. */
function compileGuarded(value: Expression, used: Used): Evaluate {
  const filters: (Expression & { kind: "filter" })[] = [];
  let inner = value;
  for (; inner.kind === "filter" && harmless.has(inner.name); inner = inner.of) filters.unshift(inner);
  const of = compileExpression(inner, used);
  if (filters.length === 0) return of;
  const compiled = filters.map(({ name, args, at }, index) => ({
    ...{ name, at, args: compileArguments(args, used) },
    /** Only the place in the text is indented from here, and not the value that is put there later. */
    indents: filters.slice(index).every((filter) => filter.name === "indent"),
  }));
  return (frame) => {
    const { taint } = frame.run;
    let kept = of(frame);
    const isComposed = taint.isComposed(kept);
    for (const { name, args, at, indents } of compiled) {
      if (indents && taint.isTainted) break;
      const given = args(frame);
      frame.place(at);
      kept = applyFilter(frame, name, kept, given);
    }
    if (isComposed) taint.recompose(kept);
    return kept;
  };
}

/** A choice without `else` is meant to be empty; a name that nothing defines may not be. */
function reportUndefined({ run }: Frame, { name }: Undefined, at: number): void {
  if (name !== "" && run.surroundings.isLenient && run.template !== undefined) {
    run.surroundings.onUndefined(name, run.template, at);
  }
}
