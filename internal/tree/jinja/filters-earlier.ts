import { toolsOf } from "./compile-expression.ts";
import type { Filter, Test } from "./frame.ts";
import { textOf } from "./text.ts";
import { textMethods } from "./text-methods.ts";
import { isInteger, iterate, settled, Tuple, truthy, type Value, ValueMap } from "./values/mod.ts";

// What Jinja does not have, and templates of earlier versions may use.

const method =
  (name: string): Filter =>
  (value, args, { frame }) =>
    textMethods[name]?.(textOf(value), args, toolsOf(frame)) ?? null;

export const earlierFilters: Readonly<Record<string, Filter>> = {
  bool: (value) => truthy(value),
  lines: method("splitlines"),
  split: method("split"),
  chain: (value, { positional }, { run }) => {
    const parts = [value, ...positional];
    if (parts.every((part) => part instanceof ValueMap)) {
      return new ValueMap(parts.flatMap((part) => part.entries()));
    }
    const items = parts.flatMap((part) => iterate(part));
    run.budget.make(items.length);
    return items;
  },
  zip: (value, { positional }, { run }) => {
    const parts = [value, ...positional].map(iterate);
    const length = Math.min(...parts.map((part) => part.length));
    run.budget.make(length * parts.length);
    return Array.from({ length }, (_, at) => new Tuple(parts.map((part) => part[at] as Value)));
  },
};

const affix =
  (test: (text: string, part: string) => boolean): Test =>
  (value, { positional: [part = ""] }) =>
    test(textOf(value), textOf(part));

export const earlierTests: Readonly<Record<string, Test>> = {
  startingwith: affix((text, part) => text.startsWith(part)),
  endingwith: affix((text, part) => text.endsWith(part)),
  int: (value) => typeof settled(value) !== "boolean" && isInteger(value),
  safe: () => false,
};
