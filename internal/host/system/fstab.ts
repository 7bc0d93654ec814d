/** The path of fstab(5). */
export const fstabPath = "/etc/fstab";

/** A line of fstab(5). */
export interface FstabEntry {
  device: string;
  path: string;
  fstype: string;
  options: string;
  dump: number;
  pass: number;
}

/** The entries, in their order. */
export function fstabEntries(text: string): FstabEntry[] {
  return text.split("\n").flatMap((line) => parseLine(line) ?? []);
}

/** Replaces the entry with the same mount point, or appends the entry. */
export function withEntry(text: string, entry: FstabEntry): string {
  const lines = linesOf(text);
  const at = lines.findIndex((line) => parseLine(line)?.path === entry.path);
  if (at === -1) lines.push(formatEntry(entry));
  else lines[at] = formatEntry(entry);
  return lines.map((line) => `${line}\n`).join("");
}

/** Removes the entry of a mount point. */
export function withoutEntry(text: string, path: string): string {
  return linesOf(text)
    .filter((line) => parseLine(line)?.path !== path)
    .map((line) => `${line}\n`)
    .join("");
}

function parseLine(line: string): FstabEntry | undefined {
  if (/^\s*(#|$)/.test(line)) return undefined;
  const [device, path, fstype, options = "defaults", dump = "0", pass = "0"] = line.trim().split(/\s+/);
  if (device === undefined || path === undefined || fstype === undefined) return undefined;
  const [from, to] = [unescaped(device), unescaped(path)];
  return { device: from, path: to, fstype, options, dump: Number(dump), pass: Number(pass) };
}

function formatEntry({ device, path, fstype, options, dump, pass }: FstabEntry): string {
  return [escaped(device), escaped(path), fstype, options, dump, pass].join("\t");
}

/** White space is escaped as octal digits. */
function escaped(text: string): string {
  return text.replace(/[ \t\n\\]/g, (each) => `\\${each.charCodeAt(0).toString(8).padStart(3, "0")}`);
}

function unescaped(text: string): string {
  return text.replace(/\\([0-7]{3})/g, (_, digits) => String.fromCharCode(Number.parseInt(digits, 8)));
}

function linesOf(text: string): string[] {
  const lines = text.split("\n");
  if (lines.at(-1) === "") lines.pop();
  return lines;
}
