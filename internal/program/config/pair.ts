/** Checks two keys that must be set together: returns the one that is set alone, and what is missing. */
export function pairProblem<Key extends string>(
  values: Readonly<Record<Key, string>>,
  first: Key,
  second: Key,
): { key: Key; complaint: string } | undefined {
  if ((values[first] === "") === (values[second] === "")) return undefined;
  const [key, missing] = values[first] === "" ? [second, first] : [first, second];
  return { key, complaint: `needs ${missing} as well` };
}
