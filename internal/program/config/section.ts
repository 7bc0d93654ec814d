/** A section of a configuration file: a dotted key is a key inside the sections before its last dot. */
export interface Section {
  /** The last part of its dotted name; empty for the file itself. */
  readonly name: string;
  /** The dotted keys directly in it. */
  readonly keys: string[];
  /** The sections in it. In a file they follow its keys. */
  readonly sections: Section[];
}

/** Orders dotted keys as a file writes them. */
export function sectionsOf(keys: readonly string[]): Section {
  const file: Section = { name: "", keys: [], sections: [] };
  for (const key of keys) {
    let at = file;
    for (const name of key.split(".").slice(0, -1)) {
      let next = at.sections.find((section) => section.name === name);
      if (next === undefined) {
        next = { name, keys: [], sections: [] };
        at.sections.push(next);
      }
      at = next;
    }
    at.keys.push(key);
  }
  return file;
}

/** The name of a key inside its section. */
export function nameInSection(key: string): string {
  return key.slice(key.lastIndexOf(".") + 1);
}
