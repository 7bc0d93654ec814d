import * as v from "valibot";
import type { Schema } from "../../base/document/schemas.ts";
import { kindOf } from "../../base/document/written.ts";
import type { OptionType } from "./option.ts";
import { checked, type ProblemOf, quoted } from "./scalar.ts";

const emptyItem = (item: string) => (item.trim() === "" ? "an item of the list is empty" : undefined);

/**
 * A list of strings. Its flag takes several values separated by commas and may be repeated. An empty flag
 * clears the list of the file.
 */
export function listOf(form: {
  name: string;
  placeholder: string;
  item: v.GenericSchema<string> | ProblemOf;
}): OptionType<readonly string[]> {
  const item = typeof form.item === "function" ? checked(form.item) : form.item;
  return {
    name: `list of ${form.name}`,
    placeholder: `${form.placeholder},...`,
    schema: v.array(
      v.pipe(checked(emptyItem), item),
      ({ input }) => `expected a list of ${form.name}, found ${kindOf(input)}`,
    ),
    fromFlag: (texts) =>
      texts.filter((text) => text !== "").flatMap((text) => text.split(",").map((one) => one.trim())),
    format: (items) => `[${items.map(quoted).join(", ")}]`,
  };
}

/** A list of maps, which has no flag. */
export function listOfMaps<T>(
  form: string,
  item: Schema<T>,
  format: (value: readonly T[]) => string,
): OptionType<readonly T[]> {
  return {
    name: `list of ${form}`,
    placeholder: "",
    schema: v.array(item, ({ input }) => `expected a list of ${form}, found ${kindOf(input)}`),
    format,
  };
}
