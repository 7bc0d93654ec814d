import { endOf } from "../../base/cut.ts";
import { defined } from "../../base/defined.ts";
import { attempt, SvcError } from "../../base/errors.ts";
import { type System, succeed } from "./system.ts";

/** An entry of a crontab. */
export interface CronEntry {
  /** Identifies the entry: a name chosen by the caller, or else the command. */
  identifier: string;
  /** Five fields such as `0 4 * * 1`, or one such as `@daily`. */
  schedule: string;
  command: string;
  /** Comment line above the entry. */
  comment?: string;
  /** Whether cron does not run it. */
  disabled?: boolean;
}

/** What Salt writes before an entry that cron does not run. */
const disabledMark = "#DISABLED#";
const marker = "# svc:";

/** An editable crontab. Entries of others are preserved. */
export interface Crontab {
  entries(): readonly CronEntry[];
  find(identifier: string): CronEntry | undefined;
  /** Replaces the entry with the same identifier, or appends the entry. */
  set(entry: CronEntry): void;
  remove(identifier: string): void;
  variable(name: string): string | undefined;
  /** Sets a variable above every entry; `undefined` removes it. */
  setVariable(name: string, value: string | undefined): void;
  text(): string;
}

interface Line {
  text: string;
  entry?: CronEntry;
  variable?: string;
}

/**
 * Parses crontab(5). An entry with an identifier or a comment has a line `# svc:<identifier> <comment>` above
 * it; any other entry is found by its command.
 */
export function parseCrontab(text: string): Crontab {
  const lines = readLines(text);
  const indexOf = (identifier: string) => lines.findIndex(({ entry }) => entry?.identifier === identifier);
  return {
    entries: () => lines.flatMap(({ entry }) => entry ?? []),
    find: (identifier) => lines[indexOf(identifier)]?.entry,
    set(entry) {
      const line = { text: formatEntry(entry), entry };
      const at = indexOf(entry.identifier);
      if (at === -1) lines.push(line);
      else lines[at] = line;
    },
    remove(identifier) {
      const at = indexOf(identifier);
      if (at !== -1) lines.splice(at, 1);
    },
    variable(name) {
      const line = lines.find(({ variable }) => variable === name);
      return line === undefined ? undefined : valueIn(line.text);
    },
    setVariable(name, value) {
      const at = lines.findIndex(({ variable }) => variable === name);
      if (value === undefined) {
        if (at !== -1) lines.splice(at, 1);
        return;
      }
      const line = { text: `${name}="${value}"`, variable: name };
      if (at !== -1) lines[at] = line;
      else {
        const first = lines.findIndex(({ entry }) => entry !== undefined);
        lines.splice(first === -1 ? lines.length : first, 0, line);
      }
    },
    text: () => lines.map((line) => `${line.text}\n`).join(""),
  };
}

const variableForm = /^\s*(?:"([^"]+)"|'([^']+)'|([^\s=#"']+))\s*=\s*(.*?)\s*$/;
const entryForm = /^\s*(@\w+|(?:[^\s#@]\S*\s+){4}\S+)\s+(.+?)\s*$/;

function readLines(text: string): Line[] {
  const all = text.split("\n");
  if (all.at(-1) === "") all.pop();
  const lines: Line[] = [];
  for (const raw of all) {
    const off = raw.startsWith(disabledMark);
    const line = off ? raw.slice(disabledMark.length) : raw;
    const [, schedule, command] = /^\s*#/.test(line) ? [] : (entryForm.exec(line) ?? []);
    const [, first, second, third] = /^\s*#/.test(raw) ? [] : (variableForm.exec(raw) ?? []);
    const variable = first ?? second ?? third;
    if (variable !== undefined && !/^\s*(@|[\d*])/.test(raw)) lines.push({ text: raw, variable });
    else if (schedule !== undefined && command !== undefined) {
      const entry = {
        schedule: schedule.replace(/\s+/g, " "),
        command,
        ...(off ? { disabled: true as const } : {}),
      };
      lines.push(withMarker(lines, raw, entry));
    } else lines.push({ text: raw });
  }
  return lines;
}

/** Merges the marker above an entry into the entry. */
function withMarker(lines: Line[], raw: string, read: Omit<CronEntry, "identifier" | "comment">): Line {
  const { command } = read;
  const { text: above = "", entry: other } = lines.at(-1) ?? {};
  if (other !== undefined || !above.startsWith(marker))
    return { text: raw, entry: { identifier: command, ...read } };
  lines.pop();
  const [, identifier = "", comment] = /^# svc:(\S*)(?: (.*))?$/.exec(above) ?? [];
  const entry: CronEntry = {
    identifier: identifier === "" ? command : decoded(identifier),
    ...read,
    ...defined({ comment }),
  };
  return { text: `${above}\n${raw}`, entry };
}

function formatEntry({ identifier, schedule, command, comment, disabled }: CronEntry): string {
  const line = `${disabled ? disabledMark : ""}${schedule} ${command}`;
  if (identifier === command && comment === undefined) return line;
  const word = identifier === command ? "" : encodeURIComponent(identifier);
  return `${marker}${word}${comment === undefined ? "" : ` ${comment}`}\n${line}`;
}

/** A marker edited by hand may be malformed; it is used unchanged. */
function decoded(word: string): string {
  return attempt(() => decodeURIComponent(word), word);
}

function valueIn(line: string): string {
  const value = variableForm.exec(line)?.[4] ?? "";
  return /^(["'])(.*)\1$/.exec(value)?.[2] ?? value;
}

/**
 * Returns the text of a user's crontab; empty when it does not exist. @throws SvcError with the error output
 */
export function readCrontab(system: System, user: string): Promise<string> {
  requireCrontab(system);
  return system.memo(`crontab of ${user}`, async () => {
    const { code, stdout, stderr } = await system.run(["crontab", "-u", user, "-l"]);
    if (code === 0) return stdout;
    if (/no crontab for|can't open/i.test(stderr)) return "";
    throw new SvcError("bad_request", `cannot read the crontab of ${user}: ${endOf(stderr.trim(), 400)}`);
  });
}

/** @throws SvcError with the error output */
export async function writeCrontab(system: System, user: string, text: string): Promise<void> {
  requireCrontab(system);
  await succeed(system, `write the crontab of ${user}`, ["crontab", "-u", user, "-"], { stdin: text });
}

function requireCrontab(system: System): void {
  if (system.has("crontab")) return;
  throw new SvcError("bad_request", "cron: the program crontab is not installed; install cron");
}
