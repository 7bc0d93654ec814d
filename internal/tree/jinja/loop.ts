import { compileExpression } from "./compile-expression.ts";
import type { Compiling, Execute, Frame, Signal } from "./frame.ts";
import type { Statement } from "./syntax/mod.ts";
import { compileTarget } from "./target.ts";
import { type Args, Callable, equals, Facade, Fault, iterate, truthy, type Value } from "./values/mod.ts";

/** `for`, with `loop`. */
export function compileLoop(statement: Statement & { kind: "for" }, compiling: Compiling): Execute {
  const { used } = compiling;
  const { isRecursive, at } = statement;
  const [over, assign] = [compileExpression(statement.over, used), compileTarget(statement.target)];
  const condition = statement.condition && compileExpression(statement.condition, used);
  const [body, otherwise] = [compiling.body(statement.body, used), compiling.body(statement.otherwise, used)];

  const run = (frame: Frame, value: Value, depth: number): Signal => {
    const { budget, taint } = frame.run;
    frame.place(at);
    const all = iterate(value);
    const { used: ofItems } = taint;
    taint.choose("a loop");
    // A copy: the body may change what it goes over.
    const items = all.filter((item) => {
      budget.make(1);
      if (condition === undefined) return true;
      const inner = frame.inner();
      assign(inner, item);
      taint.used = 0;
      const holds = truthy(condition(inner));
      taint.chooseWithin(ofItems);
      return holds;
    });
    if (items.length === 0) return otherwise(frame);
    const neighbor = (at: number) => {
      taint.used |= ofItems;
      return items[at];
    };
    const state: LoopState = { items, index: 0, depth, changed: undefined, neighbor };
    const again = isRecursive
      ? ({ positional: [more = null], used }: Args) =>
          frame.run.capture(() => {
            taint.used = used?.get(0) ?? 0;
            budget.within(() => void run(frame, more, depth + 1));
          })
      : undefined;
    const loop = loopOf(state, again);
    for (; state.index < items.length; state.index++) {
      budget.step();
      const inner = frame.inner();
      frame.place(at);
      assign(inner, items[state.index] as Value);
      inner.set("loop", loop, 0);
      if (body(inner) === "break") break;
    }
    return undefined;
  };
  return (frame) => run(frame, over(frame), 0);
}

interface LoopState {
  readonly items: readonly Value[];
  index: number;
  readonly depth: number;
  changed: readonly Value[] | undefined;
  neighbor(at: number): Value | undefined;
}

/** The variable `loop`. */
function loopOf(state: LoopState, again: ((args: Args) => Value) | undefined): Facade {
  const { items, depth } = state;
  const attributes: Readonly<Record<string, () => Value | undefined>> = {
    index: () => state.index + 1,
    index0: () => state.index,
    revindex: () => items.length - state.index,
    revindex0: () => items.length - state.index - 1,
    first: () => state.index === 0,
    last: () => state.index === items.length - 1,
    length: () => items.length,
    depth: () => depth + 1,
    depth0: () => depth,
    previtem: () => state.neighbor(state.index - 1),
    nextitem: () => state.neighbor(state.index + 1),
    cycle: () =>
      new Callable("cycle", ({ positional }) => {
        const value = positional[state.index % positional.length];
        if (value === undefined) throw new Fault("no items for cycling given");
        return value;
      }),
    changed: () =>
      new Callable("changed", ({ positional }) => {
        const before = state.changed;
        state.changed = positional;
        return !(
          before?.length === positional.length &&
          before.every((each, at) => equals(each, positional[at] as Value))
        );
      }),
  };
  return new Facade(
    "loop",
    (name) => (Object.hasOwn(attributes, name) ? attributes[name]?.() : undefined),
    again,
  );
}
