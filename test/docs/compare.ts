/** Values that differ from run to run, and that a reader takes from one command to the next: ids, pins, and the name of a master. */
const carried = /\blaptop-[0-9a-f]{8}\b|\b(?:apr|enr|job|tok)-[0-9A-Za-z]{8,27}\b|\bsha256:[0-9a-f]{64}\b/g;

/** What a page shows in place of each such value, and what it is in this run. */
export type Bindings = Map<string, string>;

/** Puts the values of this run where a page has its own. */
export function bind(text: string, bindings: Bindings): string {
  return text.replace(carried, (shown) => bindings.get(shown) ?? shown);
}

/** What no reader compares: times, ages, versions, digests, fingerprints, and how many blanks part two columns. */
function plain(text: string): string {
  return text
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "TIME")
    .replace(/(?<=\b(?:files of \S+|base) at |^base +local +)[0-9a-f]{12}\b/gm, "DIGEST")
    .replace(/\b[A-Z2-7]{4}(?:-[A-Z2-7]{4}){3}\b/g, "KEY")
    .replace(/(?<![\d.])\d+\.\d+\.\d+(?![\d.])/g, "VERSION")
    .replace(/\b\d\S* ago\b/g, "AGE ago")
    .replace(/(?<= )(?:in )?\d+[smhd](?= |$)/gm, "AGE")
    .replace(/\bin \d+ days\b/g, "in DAYS")
    .replace(/\b(?:[\d.]+ to )?[\d.]+ (?:ms|s|KiB|MiB|KB|MB|bytes)(?=\W|$)/g, "AMOUNT")
    .replace(/[ \t]+/g, " ")
    .replace(/ +$/gm, "")
    .trim();
}

/**
 * Compares what a command printed with what its page says. A line of three dots stands for any lines, three dots
 * within a line for any text. Ids are compared by their places: where a page repeats one, the run must as well.
 *
 * @param bindings gets the ids that were met here for the first time
 * @returns undefined when they agree, else both texts
 */
export function compareOutput(shown: string, printed: string, bindings: Bindings): string | undefined {
  const actual = plain(printed);
  const groups = new Map<string, number>();
  const literal = (text: string) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  const lineOf = (line: string) =>
    line === "..."
      ? "(?:.*\n)*?"
      : `${literal(line).replace(carried, placeOf).replaceAll("\\.\\.\\.", ".*")}\n`;
  const placeOf = (token: string) => {
    const known = bindings.get(token);
    if (known !== undefined) return literal(known);
    const group = groups.get(token);
    if (group !== undefined) return `\\${group}`;
    groups.set(token, groups.size + 1);
    return `(${carried.source})`;
  };
  const pattern = plain(shown).split("\n").map(lineOf).join("");
  const found = new RegExp(`^${pattern}$`).exec(`${actual}\n`);
  if (found === null) return `the page shows\n${shown}\nand the command printed\n${printed.trim()}`;
  for (const [token, group] of groups) bindings.set(token, found[group] ?? "");
  return undefined;
}
