/** Two keys that only work together: the one that is set alone, and what it lacks. */
export function pairProblem<Key extends string>(
  values: Readonly<Record<Key, string>>,
  first: Key,
  second: Key,
): { key: Key; complaint: string } | undefined {
  if ((values[first] === "") === (values[second] === "")) return undefined;
  const [key, missing] = values[first] === "" ? [second, first] : [first, second];
  return { key, complaint: `needs ${missing} as well` };
}
