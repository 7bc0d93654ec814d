import { atLine } from "../../base/place.ts";

/** What an item of the report is about. */
export type Subject =
  | "configuration"
  | "states"
  | "settings"
  | "secrets"
  | "groups"
  | "schedule"
  | "rules"
  | "hosts"
  | "modules";

/** Something that a person must look at. */
export interface Item {
  about: Subject;
  /** A path of the Salt master, or one below the written directory. */
  file: string;
  /** From 1; 0 for the whole file. */
  line: number;
  problem: string;
  next: string;
}

/** The counts of what was written. */
export interface Written {
  states: number;
  settings: number;
  groups: number;
  rules: number;
  schedule_entries: number;
  expected_hosts: number;
}

/** What an import found and did; the fields are those of `report.json`. */
export interface Report {
  master_config: string;
  /** Every configuration file that was read, in order. */
  config_files: string[];
  dir: string;
  written: Written;
  /** How many hosts the result was compiled for, and how many of them with grains of the master's cache. */
  checked: { hosts: number; with_grains: number };
  needs_hand: Item[];
  /** How many further items were left out. */
  omitted: number;
}

/** Enough for every tree that a person works through, and a bound for the others. */
const maxItems = 2_000;

/** Collects items, each once. */
export class Items {
  private readonly found = new Map<string, Item>();
  private readonly lines = new Set<string>();
  private dropped = 0;

  add(about: Subject, place: { file: string; line?: number }, problem: string, next: string): void {
    const item = { about, file: place.file, line: place.line ?? 0, problem, next };
    const key = `${atLine(item.file, item.line)} ${problem}`;
    if (this.found.has(key)) return;
    if (this.found.size >= maxItems) this.dropped++;
    else {
      this.found.set(key, item);
      this.lines.add(atLine(item.file, item.line));
    }
  }

  /** Whether something was found at this line already. */
  has(file: string, line: number): boolean {
    return this.lines.has(atLine(file, line));
  }

  /** The items by subject, file and line. */
  sorted(): { items: Item[]; omitted: number } {
    const items = [...this.found.values()].sort(
      (a, b) => compare(a.about, b.about) || compare(a.file, b.file) || a.line - b.line,
    );
    return { items, omitted: this.dropped };
  }
}

/** The report as a page for people. */
export function reportPage({
  master_config,
  config_files,
  written,
  checked,
  needs_hand,
  omitted,
}: Report): string {
  const subjects = [...new Set(needs_hand.map(({ about }) => about))];
  return [
    "# What came over from Salt\n",
    `Read: ${master_config}${config_files.length > 1 ? `, and ${config_files.length - 1} included files` : ""}.\n`,
    ...Object.entries(written).map(([what, count]) => `- ${what.replaceAll("_", " ")}: ${count}`),
    `\n${checkedSentence(checked)}\n`,
    needs_hand.length === 0 ? "Nothing was found that needs work.\n" : "## What needs a hand\n",
    ...subjects.flatMap((subject) => [
      `### ${subject}\n`,
      ...needs_hand
        .filter(({ about }) => about === subject)
        .map(({ file, line, problem, next }) => `- \`${atLine(file, line)}\`: ${problem}. ${next}.`),
      "",
    ]),
    ...(omitted === 0 ? [] : [`${omitted} further items were left out.\n`]),
  ].join("\n");
}

/** Says for how many hosts the result was compiled. */
export function checkedSentence({ hosts, with_grains }: Report["checked"]): string {
  const grains =
    with_grains === hosts
      ? "with their grains from the cache of the Salt master"
      : `${with_grains} of them with their grains from the cache of the Salt master, the others with facts of this host`;
  return `The states were compiled for ${hosts} ${hosts === 1 ? "host" : "hosts"}, ${grains}.`;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
