/**
 * Bounds the label values of a metric whose names come from files that change: a label value is never removed.
 *
 * @param max how many names have a value of their own
 * @returns the label value of a name; `(other)` for those that came too late
 */
export function boundedNames(max: number): (name: string) => string {
  const names = new Set<string>();
  return (name) => {
    if (names.size < max) names.add(name);
    return names.has(name) ? name : "(other)";
  };
}
