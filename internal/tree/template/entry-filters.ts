import { type Filter, take, textOf } from "../jinja/mod.ts";
import { Fault, itemsOf, iterate, Tuple, truthy, type Value, ValueMap } from "../jinja/values/mod.ts";

type Budget = Parameters<Filter>[2]["run"]["budget"];

/** More choices than these are not listed. */
const maxChoices = 65_536;

/** Filters of Salt for entries of maps, and for choices of the items of a list. */
export const entryFilters: Readonly<Record<string, Filter>> = {
  to_entries: (value, _, { run }) => {
    const entries: (readonly [Value, Value])[] | undefined =
      value instanceof ValueMap
        ? [...value.entries()]
        : itemsOf(value)?.map((item, at) => [at, item] as const);
    if (entries === undefined) throw new Fault("to_entries: expected a map or a list");
    run.budget.make(entries.length * 2);
    return entries.map(
      ([key, item]) =>
        new ValueMap([
          ["key", key],
          ["value", item],
        ]),
    );
  },
  from_entries: (value) => {
    const made = new ValueMap();
    for (const entry of iterate(value)) {
      if (!(entry instanceof ValueMap)) throw new Fault("from_entries: expected a list of maps");
      const named = new Map(
        entry.entries().map(([key, item]): [string, Value] => [textOf(key).toLowerCase(), item]),
      );
      const key = ["key", "name"]
        .map((name) => named.get(name))
        .find((each) => each !== undefined && truthy(each));
      if (key !== undefined) made.set(key, named.get("value") ?? null);
    }
    return made;
  },
  sorted_ignorecase: (value) => {
    const texts = iterate(value).map((item): [string, Value] => {
      if (typeof item !== "string") throw new Fault("sorted_ignorecase: expected texts");
      return [item.toLowerCase(), item];
    });
    return texts.sort(([one], [other]) => (one < other ? -1 : Number(one > other))).map(([, item]) => item);
  },
  /** In the documentation of Salt, and nowhere in Salt 3007. */
  is_sorted: (value) => {
    const items = iterate(value);
    const isNumbers = items.every((item) => typeof item === "number");
    if (!isNumbers && !items.every((item) => typeof item === "string")) {
      throw new Fault("is_sorted: expected numbers alone, or texts alone");
    }
    return items.every(
      (item, at) => at === 0 || (items[at - 1] as string | number) <= (item as string | number),
    );
  },
  permutations: (value, args, { run }) => {
    const items = iterate(value);
    const length = lengthOf(take("permutations", args, ["r?"])[0] ?? items.length);
    return choices(items, length, run.budget, (chosen) =>
      items.map((_, at) => at).filter((at) => !chosen.includes(at)),
    );
  },
  combinations: (value, args, { run }) => {
    const items = iterate(value);
    const length = lengthOf(take("combinations", args, ["r"])[0] as Value);
    return choices(items, length, run.budget, (chosen) => from(items.length, (chosen.at(-1) ?? -1) + 1));
  },
  combinations_with_replacement: (value, args, { run }) => {
    const items = iterate(value);
    const length = lengthOf(take("combinations_with_replacement", args, ["r"])[0] as Value);
    return choices(items, length, run.budget, (chosen) => from(items.length, chosen.at(-1) ?? 0));
  },
  skip: () => "",
};

const from = (length: number, first: number): number[] =>
  Array.from({ length: Math.max(0, length - first) }, (_, at) => first + at);

function lengthOf(value: Value): number {
  const length = typeof value === "number" || typeof value === "bigint" ? Number(value) : Number.NaN;
  if (Number.isInteger(length) && length >= 0) return length;
  throw new Fault("expected how many items to take: a whole number");
}

/**
 * Every choice of `length` items, in the order of their places.
 *
 * @param next the places that may follow those that are chosen
 */
function choices(
  items: readonly Value[],
  length: number,
  budget: Budget,
  next: (chosen: readonly number[]) => readonly number[],
): Tuple[] {
  let all: readonly (readonly number[])[] = [[]];
  for (let taken = 0; taken < length && all.length > 0; taken++) {
    let count = 0;
    all = all.flatMap((chosen) => {
      const following = next(chosen);
      count += following.length;
      if (count > maxChoices) throw new Fault(`there are more than ${maxChoices} such choices`);
      budget.make(following.length * (chosen.length + 1));
      return following.map((at) => [...chosen, at]);
    });
  }
  return all.map((chosen) => new Tuple(chosen.map((at) => items[at] as Value)));
}
