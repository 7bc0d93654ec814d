import { displayPeelId } from "../../base/names/peel-id.ts";

/** The parts of a schema that say where its fields are. */
interface Shape {
  entries?: Readonly<Record<string, unknown>>;
  item?: unknown;
  wrapped?: unknown;
  value?: unknown;
}

/**
 * Adds to each object of an answer that has an encoded id in `peel_id` the same with dots, as `peel`. Only where the
 * schema of the answer declares the field: what a function returned and what a peel stored stays as it is.
 *
 * @returns a copy where something was added
 */
export function namePeels(schema: unknown, answer: unknown): unknown {
  const { entries, item, wrapped, value } = Object(schema) as Shape;
  if (wrapped !== undefined) return namePeels(wrapped, answer);
  if (Array.isArray(answer)) return item === undefined ? answer : answer.map((one) => namePeels(item, one));
  if (typeof answer !== "object" || answer === null) return answer;
  if (entries === undefined && value === undefined) return answer;
  return Object.fromEntries(
    Object.entries(answer).flatMap(([name, field]) => {
      const declared = entries === undefined ? value : entries[name];
      const named = [name, declared === undefined ? field : namePeels(declared, field)] as const;
      const isId =
        name === "peel_id" && entries !== undefined && declared !== undefined && typeof field === "string";
      return isId && entries.peel === undefined ? [["peel", displayPeelId(field)] as const, named] : [named];
    }),
  );
}
