import { asInteger, take } from "./arguments.ts";
import type { Budget } from "./budget.ts";
import { makeMap } from "./filters-list.ts";
import type { Taint } from "./taint.ts";
import { textOf } from "./text.ts";
import { Callable, Facade, Fault, Namespace, type Value } from "./values/mod.ts";

/** Jinja's functions. */
export function builtins(budget: Budget, taint: Taint): ReadonlyMap<string, Value> {
  const functions: readonly Callable[] = [
    new Callable("range", (args) => {
      const names = args.positional.length < 2 ? ["stop"] : ["start", "stop", "step?"];
      const [first = 0, second, step = 1] = take("range", args, names).map((part) =>
        part === undefined ? undefined : asInteger(part, "range"),
      );
      const [start, stop] = second === undefined ? [0, first] : [first, second];
      if (step === 0) throw new Fault("range() arg 3 must not be zero");
      const length = Math.max(0, Math.ceil((stop - start) / step));
      budget.make(length);
      return Array.from({ length }, (_, at) => start + at * step);
    }),
    new Callable("dict", makeMap),
    new Callable("namespace", (args) => {
      const namespace = new Namespace(taint);
      for (const [key, value] of makeMap(args).entries()) namespace.set(textOf(key), value);
      return namespace;
    }),
    new Callable("cycler", ({ positional }) => cycler(positional)),
    new Callable("joiner", (args) => {
      const [separator = ", "] = take("joiner", args, ["sep?"]);
      let isUsed = false;
      return new Callable("joiner", () => {
        if (isUsed) return separator;
        isUsed = true;
        return "";
      });
    }),
  ];
  return new Map(functions.map((each) => [each.name, each]));
}

function cycler(items: readonly Value[]): Facade {
  if (items.length === 0) throw new Fault("cycler: expected at least one item");
  let at = 0;
  const current = () => items[at] as Value;
  const attributes: Readonly<Record<string, () => Value>> = {
    current,
    next: () =>
      new Callable("next", () => {
        const value = current();
        at = (at + 1) % items.length;
        return value;
      }),
    reset: () =>
      new Callable("reset", () => {
        at = 0;
        return null;
      }),
  };
  return new Facade("Cycler", (name) => (Object.hasOwn(attributes, name) ? attributes[name]?.() : undefined));
}
