/** A line of a difference; its first character tells its kind without the color. */
export interface DiffLine {
  kind: "add" | "remove" | "place" | "same";
  text: string;
}

/** Lines that are shown; a change may be as long as a peel likes. */
const maxLines = 2_000;

/**
 * The changes of a state as lines. A `diff` in the unified form is shown as it is; a value with `old` and `new` as two
 * lines; anything else by its name and its JSON.
 */
export function diffLines(changes: Readonly<Record<string, unknown>>): DiffLine[] {
  const lines = Object.entries(changes).flatMap(([name, change]): DiffLine[] => {
    if (name === "diff" && typeof change === "string") return change.split("\n").map(lineOf);
    const { old, new: now } = Object(change) as { old?: unknown; new?: unknown };
    if (old === undefined && now === undefined)
      return [{ kind: "same", text: `  ${name}: ${textOf(change)}` }];
    return [
      ...(isAbsent(old) ? [] : [{ kind: "remove" as const, text: `- ${name}: ${textOf(old)}` }]),
      ...(isAbsent(now) ? [] : [{ kind: "add" as const, text: `+ ${name}: ${textOf(now)}` }]),
    ];
  });
  if (lines.length <= maxLines) return lines;
  return [...lines.slice(0, maxLines), { kind: "place", text: `… ${lines.length - maxLines} more lines` }];
}

const isAbsent = (value: unknown) => value === undefined || value === null || value === "";

function lineOf(text: string): DiffLine {
  if (/^(?:@@|---|\+\+\+)/.test(text)) return { kind: "place", text };
  if (text.startsWith("+")) return { kind: "add", text };
  return { kind: text.startsWith("-") ? "remove" : "same", text };
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}
