import { SvcError } from "../../base/errors.ts";
import { isLabelName, type Labels } from "../../fleet/enrollment/record/mod.ts";

/** A change of one label, as a word of the command line. */
export interface Change {
  name: string;
  /** Absent to remove it. */
  value?: string;
}

/** Reads `name=value` or `name-`. @throws SvcError `usage` */
export function readChange(word: string): Change {
  const [, set, value, removed] = /^([^=]*)=([\s\S]*)$|^([\s\S]*)-$/.exec(word) ?? [];
  const name = set ?? removed ?? word;
  if (!isLabelName(name) || (set === undefined && removed === undefined)) {
    throw new SvcError(
      "usage",
      `${JSON.stringify(word.slice(0, 60))} is not a change of a label: write name=value or name-, where the name has a-z, 0-9, _, . and -, and begins with a letter`,
    );
  }
  return value === undefined ? { name } : { name, value };
}

/** `env=prod rack=7` */
export function formatLabels(labels: Labels): string {
  const shown = Object.entries(labels).map(([name, value]) => `${name}=${value}`);
  return shown.length === 0 ? "no labels" : shown.join(" ");
}
