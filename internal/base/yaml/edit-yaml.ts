import { SvcError } from "../errors.ts";
import { formatYaml, parseYaml } from "./yaml.ts";

/**
 * Gives keys at the top of a YAML file other values. All other lines stay as they are, comments among them; what
 * belongs to the value of a changed key is written again. A missing key is added at the end.
 *
 * @param name of the file, for messages
 * @param changes by key; `undefined` removes it
 * @throws SvcError `bad_request` for a text that is not a map with one key at the beginning of a line each
 */
export function setYamlKeys(text: string, name: string, changes: Readonly<Record<string, unknown>>): string {
  const node = parseYaml(text, name);
  const entries = node.kind === "map" ? node.entries : [];
  if (
    (node.kind !== "map" && text.trim() !== "" && !isOnlyComments(text)) ||
    entries.some(({ keyAt }) => keyAt.column !== 1)
  ) {
    throw new SvcError("bad_request", `${name}: expected one key at the beginning of a line each`);
  }
  const lines = text.split("\n");
  const kept: string[] = [];
  const done = new Set<string>();
  let line = 0;
  for (const [i, { key, keyAt }] of entries.entries()) {
    kept.push(...lines.slice(line, keyAt.line - 1));
    const end = endOfEntry(lines, keyAt.line - 1, (entries[i + 1]?.keyAt.line ?? lines.length + 1) - 1);
    if (!Object.hasOwn(changes, key)) kept.push(...lines.slice(keyAt.line - 1, end));
    else if (changes[key] !== undefined) kept.push(formatYaml({ [key]: changes[key] }).trimEnd());
    done.add(key);
    line = end;
  }
  kept.push(...lines.slice(line));
  const added = Object.fromEntries(
    Object.entries(changes).filter(([key, value]) => value !== undefined && !done.has(key)),
  );
  const before = kept.join("\n").replace(/\n*$/, "\n");
  return Object.keys(added).length === 0 ? before : `${before}${formatYaml(added)}`;
}

/** Comments and empty lines before the next key belong to that one. */
function endOfEntry(lines: readonly string[], from: number, next: number): number {
  let end = Math.min(next, lines.length);
  while (end > from + 1 && /^(?:#|\s*$)/.test(lines[end - 1] ?? "")) end--;
  return end;
}

function isOnlyComments(text: string): boolean {
  return text.split("\n").every((line) => /^\s*(?:#|$)/.test(line));
}
