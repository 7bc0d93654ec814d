/** A change of labels: a value sets one, and `undefined` removes it. */
export type LabelChange = ReadonlyMap<string, string | undefined>;

/**
 * Reads `env=prod rack=7 old-`, as `svc enroll label` takes it.
 *
 * @returns a sentence where a word is not a change of a label
 */
export function readChange(text: string): LabelChange | string {
  const change = new Map<string, string | undefined>();
  for (const word of text.trim().split(/\s+/)) {
    const [, set, value, removed] = /^([a-z][a-z0-9_.-]*)=(.*)$|^([a-z][a-z0-9_.-]*)-$/.exec(word) ?? [];
    const name = set ?? removed;
    if (name === undefined) {
      return word === ""
        ? "Say what changes: env=prod sets a label, env- removes it."
        : `${word} is not a change of a label: write name=value or name-.`;
    }
    change.set(name, value);
  }
  return change;
}

/** The whole set of labels of a peel after a change. */
export function changed(
  labels: Readonly<Record<string, string>>,
  change: LabelChange,
): Record<string, string> {
  const next = new Map(Object.entries(labels));
  for (const [name, value] of change) {
    if (value === undefined) next.delete(name);
    else next.set(name, value);
  }
  return Object.fromEntries(next);
}
