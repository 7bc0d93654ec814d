import { addressOf, type Place } from "./router.ts";

/** A field of an address that has one of a few values. Its usual value is left out of the address. */
export interface AddressField<Value extends string> {
  name: string;
  values: readonly Value[];
  usual: Value;
}

/** The value that an address gives a field; the usual one for an address that has none, or one that is not known. */
export const fieldValue = <Value extends string>(
  { name, values, usual }: AddressField<Value>,
  { query }: Pick<Place, "query">,
): Value => values.find((one) => one === query.get(name)) ?? usual;

/** The address of a place when a field has another value. */
export const withValue = <Value extends string>(
  place: Place,
  { name, usual }: Pick<AddressField<Value>, "name" | "usual">,
  value: Value,
): string => withFields(place, { [name]: value === usual ? "" : value });

/** The address of a place with other texts in its query; an empty one is left out. */
export function withFields({ path, query }: Place, fields: Readonly<Record<string, string>>): string {
  const next = new URLSearchParams(query);
  for (const [name, text] of Object.entries(fields)) {
    if (text === "") next.delete(name);
    else next.set(name, text);
  }
  return addressOf({ path, query: next });
}
