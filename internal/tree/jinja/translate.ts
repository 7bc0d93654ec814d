import { asText, take } from "./arguments.ts";
import type { Budget } from "./budget.ts";
import { characterOf } from "./format-percent.ts";
import { itemOf } from "./operators.ts";
import { type Args, Fault, isInteger, typeName, type Value, ValueMap } from "./values/mod.ts";

/** Python's `str.maketrans`: what becomes of characters, by their numbers. @throws Fault */
export function makeTranslation(args: Args): ValueMap {
  const [from, to, gone] = take("maketrans", args, ["x", "y?", "z?"]);
  if (to === undefined) {
    if (!(from instanceof ValueMap)) {
      throw new Fault("if you give only one argument to maketrans it must be a dict");
    }
    return new ValueMap(from.entries().map(([key, value]) => [numberOf(key), value]));
  }
  const [old, fresh] = [Array.from(asText(from, "maketrans")), Array.from(asText(to, "maketrans"))];
  if (old.length !== fresh.length)
    throw new Fault("the first two maketrans arguments must have equal length");
  const table = new ValueMap(old.map((each, at) => [numberOf(each), numberOf(fresh[at] as string)]));
  for (const each of gone === undefined ? "" : asText(gone, "maketrans")) table.set(numberOf(each), null);
  return table;
}

function numberOf(key: Value): number {
  if (isInteger(key)) return Number(key);
  const characters = Array.from(asText(key, "maketrans"));
  if (characters.length === 1) return characters[0]?.codePointAt(0) ?? 0;
  throw new Fault("string keys in translate table must be of length 1");
}

/** Python's `text.translate(table)`. @throws Fault */
export function translate(text: string, args: Args, budget: Budget): string {
  const [table] = take("translate", args, ["table"]);
  budget.work(text.length);
  const parts = Array.from(text, (character) => {
    const made = itemOf(table as Value, character.codePointAt(0) ?? 0);
    if (made === undefined) return character;
    if (made === null) return "";
    if (typeof made === "string") return made;
    if (isInteger(made)) return characterOf(made);
    throw new Fault(`character mapping must return integer, None or str, not ${typeName(made)}`);
  });
  budget.make(parts.reduce((size, part) => size + part.length, 0));
  return parts.join("");
}
