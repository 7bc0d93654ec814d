import type { Budget } from "./budget.ts";
import { repr } from "./text.ts";
import { compare, Tuple, type Value, ValueMap } from "./values/mod.ts";

// Values as Python's `pprint.pformat` writes them: keys in order, and what is longer than a line of 80 characters with
// one item on each line.

const width = 80;

/** Where a part begins, and how many characters follow it on its last line. */
interface Place {
  readonly column: number;
  readonly after: number;
  /** Whether it is the whole value. */
  readonly isTop: boolean;
}

/** A value in lines of Python. @throws Fault where it is too large */
export function pretty(value: Value, budget: Budget): string {
  return written(sortedKeys(value), { column: 0, after: 0, isTop: true }, budget);
}

function written(value: Value, place: Place, budget: Budget): string {
  const line = repr(value);
  // Each level writes its parts again.
  budget.make(line.length);
  if (line.length <= width - place.column - place.after) return line;
  if (value instanceof ValueMap) return writtenMap(value, place, budget);
  if (Array.isArray(value)) return writtenItems("[", value, "]", place, budget);
  if (value instanceof Tuple) {
    return writtenItems("(", value.items, value.items.length === 1 ? ",)" : ")", place, budget);
  }
  return typeof value === "string" ? writtenText(value, place) : line;
}

function writtenMap(map: ValueMap, { column, after }: Place, budget: Budget): string {
  const entries = map.entries();
  const parts = entries.map(([key, item], at) => {
    const name = `${repr(key)}: `;
    const place = {
      column: column + 1 + name.length,
      after: at === entries.length - 1 ? after + 1 : 1,
      isTop: false,
    };
    return name + written(item, place, budget);
  });
  return `{${parts.join(separator(column))}}`;
}

function writtenItems(
  open: string,
  items: readonly Value[],
  close: string,
  { column, after }: Place,
  budget: Budget,
): string {
  const parts = items.map((item, at) => {
    const isLast = at === items.length - 1;
    return written(
      item,
      { column: column + 1, after: isLast ? after + close.length : 1, isTop: false },
      budget,
    );
  });
  return `${open}${parts.join(separator(column))}${close}`;
}

function separator(column: number): string {
  return `,\n${" ".repeat(column + 1)}`;
}

/** A long text as several ones, which Python puts together: its lines, and parts of them that end with spaces. */
function writtenText(text: string, { column, after, isTop }: Place): string {
  const indent = isTop ? column + 1 : column;
  const rest = isTop ? after + 1 : after;
  const lines = text.match(/[^\n]*\n|[^\n]+/g) ?? [];
  const parts = lines.flatMap((line, at) =>
    partsOf(line, width - indent, at === lines.length - 1 ? rest : 0),
  );
  if (parts.length === 1) return repr(text);
  const all = parts.map((part) => repr(part)).join(`\n${" ".repeat(indent)}`);
  return isTop ? `(${all})` : all;
}

function partsOf(line: string, room: number, after: number): string[] {
  if (repr(line).length <= room - after) return [line];
  const words = line.match(/\S*\s*/g)?.filter((word) => word !== "") ?? [];
  const parts: string[] = [];
  let current = "";
  for (const [at, word] of words.entries()) {
    const max = at === words.length - 1 ? room - after : room;
    if (repr(current + word).length <= max) current += word;
    else {
      if (current !== "") parts.push(current);
      current = word;
    }
  }
  return current === "" ? parts : [...parts, current];
}

function sortedKeys(value: Value): Value {
  if (Array.isArray(value)) return value.map(sortedKeys);
  if (value instanceof Tuple) return new Tuple(value.items.map(sortedKeys));
  if (!(value instanceof ValueMap)) return value;
  const entries = value.entries().map(([key, item]): [Value, Value] => [key, sortedKeys(item)]);
  const isOrdered = entries.every(([key]) => typeof key === typeof entries[0]?.[0]);
  return new ValueMap(isOrdered ? entries.sort(([one], [other]) => compare(one, other)) : entries);
}
