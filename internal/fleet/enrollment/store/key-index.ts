/** Which records have a key. Nearly every key is in one record. */
export interface KeyIndex {
  /** Notes that a record has other keys now. */
  change(id: string, before: readonly string[] | undefined, now: readonly string[]): void;
  /** The IDs of the records with this key, in the order in which they got it. */
  of(key: string): readonly string[];
}

export function createKeyIndex(): KeyIndex {
  // A set for each key would be most of the memory. Where many records have one key, a list would be copied for each.
  const ids = new Map<string, string | Set<string>>();
  return {
    change(id, before = [], now) {
      for (const key of before) {
        const known = ids.get(key);
        if (now.includes(key) || known === undefined) continue;
        if (known === id) ids.delete(key);
        if (typeof known !== "string" && known.delete(id) && known.size === 0) ids.delete(key);
      }
      for (const key of now) {
        const known = ids.get(key);
        if (known === undefined) ids.set(key, id);
        else if (typeof known !== "string") known.add(id);
        else if (known !== id) ids.set(key, new Set([known, id]));
      }
    },
    of(key) {
      const known = ids.get(key);
      if (known === undefined) return [];
      return typeof known === "string" ? [known] : [...known];
    },
  };
}
