/** Which records have a key. Nearly every key is in one record. */
export interface KeyIndex {
  /** Notes that a record has other keys now. */
  change(id: string, before: readonly string[] | undefined, now: readonly string[]): void;
  /** The IDs of the records with this key, in the order in which they got it. */
  of(key: string): readonly string[];
}

export function createKeyIndex(): KeyIndex {
  const ids = new Map<string, readonly string[]>();
  return {
    change(id, before = [], now) {
      for (const key of before) {
        if (now.includes(key)) continue;
        const rest = (ids.get(key) ?? []).filter((one) => one !== id);
        if (rest.length === 0) ids.delete(key);
        else ids.set(key, rest);
      }
      for (const key of now) {
        const known = ids.get(key) ?? [];
        if (!known.includes(id)) ids.set(key, [...known, id]);
      }
    },
    of: (key) => ids.get(key) ?? [],
  };
}
