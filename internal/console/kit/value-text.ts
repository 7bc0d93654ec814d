/** A value without the signs of JSON: lists with commas, the fields of a map each on a line. */
export function valueText(value: unknown): string {
  if (Array.isArray(value)) return value.map(valueText).join(", ");
  if (value === null || typeof value !== "object") return String(value);
  return Object.entries(value)
    .map(([name, one]) => `${name}: ${valueText(one)}`)
    .join("\n");
}
