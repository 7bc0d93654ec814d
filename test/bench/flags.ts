import { parseArgs } from "node:util";

/** The flags of a bench, each of which has a default. */
export interface Flags<Name extends string> {
  text(name: Name): string;
  /** A whole number. @param min 1 unless it is given */
  count(name: Name, min?: number): number;
  /** The same, several with commas between them. */
  counts(name: Name, min?: number): number[];
}

/**
 * Reads the flags of a bench from the command line. With `--smallest` those that are not given take their
 * smallest value: such a run measures nothing, and shows that the bench still works.
 *
 * @param declared the usual value of each flag, and the smallest one where the flag is a size
 */
export function readFlags<Name extends string>(
  declared: Record<Name, string | readonly [usual: string, smallest: string]>,
): Flags<Name> {
  const names = Object.keys(declared) as Name[];
  const { values } = parseArgs({
    options: {
      ...Object.fromEntries(names.map((name) => [name, { type: "string" } as const])),
      smallest: { type: "boolean" },
    },
  });
  const given: Readonly<Record<string, string | boolean | undefined>> = values;
  const text = (name: Name): string => {
    const value = given[name];
    if (typeof value === "string") return value;
    const fallback = declared[name];
    if (typeof fallback === "string") return fallback;
    return fallback[given.smallest === true ? 1 : 0];
  };
  const counts = (name: Name, min = 1) =>
    text(name)
      .split(",")
      .map((number) => {
        if (/^\d+$/.test(number) && Number(number) >= min) return Number(number);
        throw new Error(`--${name}: ${JSON.stringify(number)} is not a whole number of at least ${min}`);
      });
  return {
    text,
    counts,
    count(name, min) {
      const [first = 0, ...more] = counts(name, min);
      if (more.length > 0) throw new Error(`--${name} takes one number`);
      return first;
    },
  };
}
