import { readGitValue } from "./git-value.ts";
import type { IniFormat } from "./ini-format.ts";

export interface Option {
  name: string;
  /** `undefined`: the name stands alone. */
  value: string | undefined;
  indent: string;
  /** The index of its line, and of each line that continues its value. */
  lines: number[];
  /** What stands before it in its line: the name of a section. */
  head: string;
  /** The first line, from 1, that continues the value to some programs and is an option to others. */
  doubt: number | undefined;
}

export interface Section {
  name: string;
  /** The lines of each part: a section may be written more than once. The last index is exclusive. */
  parts: { from: number; to: number }[];
  options: Option[];
}

/** A line of a value that may be an option, or the line of a section. */
export interface Doubtful {
  /** Its section; `undefined` for what may be a section. */
  section: string | undefined;
  name: string;
  /** From 1. */
  line: number;
}

export interface IniLines {
  /** The first one has the lines before all sections; its name is "". */
  sections: Section[];
  doubtful: Doubtful[];
}

export interface Syntax {
  format: IniFormat;
  /** Empty for white space. */
  separator: string;
}

const isBlank = (line: string) => line.trim() === "";
const isComment = (line: string) => /^\s*[#;]/.test(line);
const indentOf = (line: string) => /^\s*/.exec(line)?.[0] ?? "";

const header = /^\s*\[([^\]]+)\]\s*(?:[#;].*)?$/;
const gitHeader = /^(\s*\[((?:"(?:[^"\\]|\\.)*"|[^\]"])+)\])\s*(.*)$/;

/** Reads the lines of a file with sections as the programs that read such a file do. */
export function readIniLines(lines: readonly string[], syntax: Syntax): IniLines {
  const reader = new Reader(lines, syntax);
  for (const at of lines.keys()) reader.line(at);
  return reader.found;
}

class Reader {
  readonly found: IniLines;
  private readonly lines: readonly string[];
  private readonly syntax: Syntax;
  private section: Section;
  private last: Option | undefined;
  /** Whether the line before ends with a backslash. */
  private continues = false;
  /** Empty lines since the last option, which belong to its value if another line of it follows. */
  private empty: number[] = [];

  constructor(lines: readonly string[], syntax: Syntax) {
    this.lines = lines;
    this.syntax = syntax;
    this.section = { name: "", parts: [{ from: 0, to: 0 }], options: [] };
    this.found = { sections: [this.section], doubtful: [] };
  }

  line(at: number): void {
    const line = this.lines[at] ?? "";
    const { continuation } = this.syntax.format;
    if (this.continues && this.last !== undefined) {
      this.end(at);
      this.extend(this.last, at);
    } else if (isBlank(line) || isComment(line)) {
      this.end(at);
      if (isBlank(line)) this.empty.push(at);
    } else if (continuation !== "backslash" && this.last !== undefined && this.isDeeper(line, this.last)) {
      this.end(at);
      if (continuation === undefined) this.noteDoubt(this.last, at);
      this.extend(this.last, at);
    } else if (!this.header(at)) {
      this.end(at);
      this.option(at, line, "");
    }
  }

  private end(at: number): void {
    const part = this.section.parts.at(-1);
    if (part !== undefined) part.to = at + 1;
  }

  private isDeeper(line: string, { indent }: Option): boolean {
    return indentOf(line).length > indent.length;
  }

  private header(at: number): boolean {
    const line = this.lines[at] ?? "";
    const { format } = this.syntax;
    const [, head = "", quoted, rest = ""] = (format.isGit && gitHeader.exec(line)) || [];
    const name = format.isGit ? quoted?.trim() : header.exec(line)?.[1];
    if (name === undefined) return false;
    const key = format.section(name);
    const known = this.found.sections.find((each, index) => index > 0 && format.section(each.name) === key);
    this.section = known ?? { name, parts: [], options: [] };
    this.section.parts.push({ from: at, to: at + 1 });
    if (known === undefined) this.found.sections.push(this.section);
    this.last = undefined;
    this.continues = false;
    this.empty = [];
    if (rest !== "" && !isComment(rest)) this.option(at, rest, head);
    return true;
  }

  private option(at: number, line: string, head: string): void {
    const { name, value } = this.split(line);
    this.last = { name, value, indent: indentOf(line), lines: [at], head, doubt: undefined };
    this.continues = this.goesOn(value ?? "");
    this.empty = [];
    this.section.options.push(this.last);
  }

  private extend(option: Option, at: number): void {
    const line = (this.lines[at] ?? "").trim();
    option.value = [option.value ?? "", ...this.empty.map(() => ""), line].join("\n");
    option.lines.push(...this.empty, at);
    this.continues = this.goesOn(line);
    this.empty = [];
  }

  private goesOn(value: string): boolean {
    const { isGit, continuation } = this.syntax.format;
    if (continuation !== "backslash") return false;
    return isGit ? readGitValue(value).continues : value.endsWith("\\");
  }

  /** A line of a value that could be more than that, and nothing before it announces it. */
  private noteDoubt(option: Option, at: number): void {
    const line = (this.lines[at] ?? "").trim();
    const isExpected = this.empty.length === 0 && (option.value === "" || option.value?.startsWith("\n"));
    if (isExpected || option.value?.endsWith("\\")) return;
    const other = header.exec(line)?.[1];
    const name = other ?? this.likelyName(line);
    if (name === undefined) return;
    option.doubt ??= at + 1;
    const section = other === undefined ? this.section.name : undefined;
    this.found.doubtful.push({ section, name, line: at + 1 });
  }

  private likelyName(line: string): string | undefined {
    const { name, value } = this.split(line);
    return value !== undefined && !value.startsWith("=") && /^[A-Za-z_][\w .:-]*$/.test(name)
      ? name
      : undefined;
  }

  private split(line: string): { name: string; value: string | undefined } {
    const { separator } = this.syntax;
    const trimmed = line.trim();
    const at = separator === "" ? trimmed.search(/\s/) : trimmed.indexOf(separator);
    if (at < 0) return { name: trimmed, value: undefined };
    return {
      name: trimmed.slice(0, at).trim(),
      value: trimmed.slice(at + Math.max(1, separator.length)).trim(),
    };
  }
}
