import { endOf } from "../../base/cut.ts";
import { defined } from "../../base/defined.ts";
import { attempt, SvcError } from "../../base/errors.ts";
import { textOfBytes } from "../../base/files/byte-text.ts";
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
/** A longer one would lose its middle when it is written back. */
const maxBytes = 1024 * 1024;

/** An editable crontab. Entries of others are preserved. */
export interface Crontab {
  entries(): readonly CronEntry[];
  /**
   * The entry with this identifier, or else the first one without any that runs this command, as of a person or an
   * old release of Salt. A second entry would run the job twice.
   */
  find(identifier: string, command?: string): CronEntry | undefined;
  /** Whether several entries carry this identifier. */
  isRepeated(identifier: string): boolean;
  /** Replaces the entries with the same identifier, or the one that `find` finds, or appends the entry. */
  set(entry: CronEntry, command?: string): void;
  /** Removes every entry with this identifier, and every one without any that runs this command. */
  remove(identifier: string, command?: string): void;
  variable(name: string): string | undefined;
  /** Sets a variable above every entry; `undefined` removes it, wherever it is set. */
  setVariable(name: string, value: string | undefined): void;
  text(): string;
}

interface Line {
  text: string;
  entry?: CronEntry;
  /** Whether a line above the entry has its identifier. */
  isNamed?: boolean;
  variable?: string;
}

/**
 * Parses crontab(5). An entry with an identifier or a comment has a line `# svc:<identifier> <comment>` above
 * it, or `# <comment> SALT_CRON_IDENTIFIER:<identifier>` if Salt wrote it; any other entry is found by its command.
 */
export function parseCrontab(text: string): Crontab {
  let lines = readLines(text);
  const isCarried =
    (identifier: string) =>
    ({ entry, isNamed }: Line) =>
      isNamed === true && entry?.identifier === identifier;
  const runs =
    (command: string) =>
    ({ entry, isNamed }: Line) =>
      isNamed === false && entry?.command === command;
  const lineOf = (identifier: string, command = identifier) =>
    lines.find(isCarried(identifier)) ?? lines.find(runs(command));
  return {
    entries: () => lines.flatMap(({ entry }) => entry ?? []),
    find: (identifier, command) => lineOf(identifier, command)?.entry,
    isRepeated: (identifier) => lines.filter(isCarried(identifier)).length > 1,
    set(entry, command) {
      const isNamed = entry.identifier !== entry.command;
      const line = { text: formatEntry(entry), entry, isNamed };
      const old = lineOf(entry.identifier, command);
      const rest = lines.filter((each) => each === old || !isCarried(entry.identifier)(each));
      lines = old === undefined ? [...rest, line] : rest.map((each) => (each === old ? line : each));
    },
    remove(identifier, command = identifier) {
      lines = lines.filter((each) => !isCarried(identifier)(each) && !runs(command)(each));
    },
    variable(name) {
      const line = lines.find(({ variable }) => variable === name);
      return line === undefined ? undefined : valueIn(line.text);
    },
    setVariable(name, value) {
      if (value === undefined) {
        lines = lines.filter(({ variable }) => variable !== name);
        return;
      }
      const at = lines.findIndex(({ variable }) => variable === name);
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
  const found = other === undefined ? readMarker(above) : undefined;
  if (found === undefined) return { text: raw, entry: { identifier: command, ...read }, isNamed: false };
  lines.pop();
  const { identifier = command, comment } = found;
  const isNamed = found.identifier !== undefined;
  return { text: `${above}\n${raw}`, entry: { identifier, ...read, ...defined({ comment }) }, isNamed };
}

/** What a line above an entry says of it. */
function readMarker(line: string): Partial<Pick<CronEntry, "identifier" | "comment">> | undefined {
  const [isOwn, word = "", own] = /^# svc:(\S*)(?: (.*))?$/.exec(line) ?? [];
  if (isOwn !== undefined)
    return defined({ identifier: word === "" ? undefined : decoded(word), comment: own });
  const [isSalt, said = "", id = ""] = /^#[# ]*(.*?)\s*SALT_CRON_IDENTIFIER(?::(.*))?$/.exec(line) ?? [];
  if (isSalt === undefined) return undefined;
  const identifier = id === "" || id === "NO ID SET" ? undefined : id;
  return defined({ identifier, comment: said === "" ? undefined : said });
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
    const options = { outputLimit: maxBytes, decode: textOfBytes };
    const { code, stdout, stderr } = await system.run(["crontab", "-u", user, "-l"], options);
    if (code === 0) return stdout;
    if (/no crontab for|can't open/i.test(stderr)) return "";
    throw new SvcError("bad_request", `cannot read the crontab of ${user}: ${endOf(stderr.trim(), 400)}`);
  });
}

/** @throws SvcError with the error output */
export async function writeCrontab(system: System, user: string, text: string): Promise<void> {
  requireCrontab(system);
  await succeed(system, `write the crontab of ${user}`, ["crontab", "-u", user, "-"], {
    stdin: text,
  });
}

function requireCrontab(system: System): void {
  if (system.has("crontab")) return;
  throw new SvcError("bad_request", "cron: the program crontab is not installed; install cron");
}
