import { StateFailure } from "../../function/mod.ts";
import { quotedForGit, readGitValue } from "./git-value.ts";
import { formatOf, type IniFormat } from "./ini-format.ts";
import { type IniLines, type Option, readIniLines, type Section, type Syntax } from "./ini-lines.ts";

/**
 * A text of sections and options that is edited in place: comments, order and everything else stay. The section
 * "" has the lines before the first section.
 */
export class IniText {
  private lines: string[];
  private readonly syntax: Syntax;
  private readonly between: string;
  private readonly end: string;

  /**
   * @param separator `=` or `:`, or white space
   * @param spaced writes white space around the separator
   * @param format what reads the file; by default any program may
   */
  constructor(
    text: string,
    {
      separator = "=",
      spaced = true,
      format = formatOf("", undefined),
    }: { separator?: string; spaced?: boolean; format?: IniFormat } = {},
  ) {
    this.lines = text === "" ? [] : (text.endsWith("\n") ? text.slice(0, -1) : text).split("\n");
    // A last line without a line break keeps that.
    this.end = text === "" || text.endsWith("\n") ? "\n" : "";
    this.syntax = { format, separator: separator.trim() };
    this.between = spaced && separator.trim() !== "" ? ` ${separator.trim()} ` : separator.trim() || " ";
  }

  text(): string {
    return this.lines.length === 0 ? "" : `${this.lines.join("\n")}${this.end}`;
  }

  /** Names of the sections, without the lines before the first one. */
  sections(): string[] {
    return this.read()
      .sections.slice(1)
      .map(({ name }) => name);
  }

  has(section: string): boolean {
    return this.find(this.read(), section) !== undefined;
  }

  /** The value of an option; empty for one without a value, `undefined` when there is none. */
  get(section: string, option: string): string | undefined {
    const found = this.optionsOf(section, option).at(-1);
    return found === undefined ? undefined : (found.value ?? "");
  }

  /** Adds a section without options, if it is missing. */
  add(section: string): void {
    const read = this.read();
    if (this.find(read, section) !== undefined) return;
    this.refuseDoubt(read, undefined, section);
    if (this.lines.length > 0 && this.lines.at(-1)?.trim() !== "") this.lines.push("");
    this.lines.push(`[${section}]`);
  }

  /**
   * Leaves a line alone that says the same already, however it is written.
   *
   * @param value `undefined` writes the option alone
   */
  set(section: string, option: string, value: string | undefined): void {
    // Of options that are written twice the last one counts.
    const found = this.optionsOf(section, option).at(-1);
    if (found !== undefined && this.isSame(found.value ?? "", value ?? "")) return;
    this.refuseDoubt(this.read(), section, option, found);
    if (found !== undefined) {
      const written = this.written(found.indent, option, value);
      this.replace(found, found.head === "" ? written : [found.head, ...written]);
      return;
    }
    if (section !== "") this.add(section);
    const read = this.read();
    const place = this.find(read, section);
    const { from, to } = place?.parts.at(-1) ?? { from: 0, to: 0 };
    let at = to;
    while (at > from + (section === "" ? 0 : 1) && this.lines[at - 1]?.trim() === "") at--;
    this.lines.splice(at, 0, ...this.written(indentIn(read, place), option, value));
  }

  remove(section: string, option: string): void {
    for (let found = this.optionsOf(section, option).at(-1); found !== undefined; ) {
      this.refuseDoubt(this.read(), section, option, found);
      this.replace(found, found.head === "" ? [] : [found.head]);
      found = this.optionsOf(section, option).at(-1);
    }
    this.refuseDoubt(this.read(), section, option);
  }

  /** Removes all options but these. */
  keepOptions(section: string, names: readonly string[]): void {
    const { format } = this.syntax;
    const kept = new Set(names.map(format.option));
    const options = this.find(this.read(), section)?.options ?? [];
    for (const { name } of options) if (!kept.has(format.option(name))) this.remove(section, name);
  }

  removeSection(section: string): void {
    const read = this.read();
    const parts = this.find(read, section)?.parts ?? [];
    this.refuseDoubt(read, undefined, section);
    for (const { from, to } of parts.toReversed()) this.lines.splice(from, to - from);
  }

  /** Removes all sections but these. The lines before the first section stay. */
  keepSections(names: readonly string[]): void {
    const { format } = this.syntax;
    const kept = new Set(names.map(format.section));
    const others = this.read().sections.slice(1);
    for (const { name } of others) if (!kept.has(format.section(name))) this.removeSection(name);
  }

  private read(): IniLines {
    return readIniLines(this.lines, this.syntax);
  }

  private find({ sections }: IniLines, section: string): Section | undefined {
    if (section === "") return sections[0];
    const { format } = this.syntax;
    const key = format.section(section);
    return sections.find(({ name }, index) => index > 0 && format.section(name) === key);
  }

  private optionsOf(section: string, option: string): Option[] {
    const { format } = this.syntax;
    const key = format.option(option);
    return (this.find(this.read(), section)?.options ?? []).filter(({ name }) => format.option(name) === key);
  }

  private isSame(present: string, wanted: string): boolean {
    if (present === wanted) return true;
    return this.syntax.format.isGit && readGitValue(present).value === wanted;
  }

  private written(indent: string, option: string, value: string | undefined): string[] {
    if (value === undefined) return [`${indent}${option}`];
    const { isGit, continuation } = this.syntax.format;
    const lines = (isGit ? quotedForGit(value) : value).split("\n");
    if (continuation === "backslash" && lines.slice(0, -1).some((line) => !line.endsWith("\\"))) {
      throw new StateFailure(
        `${option}: a value of several lines needs a backslash at the end of each line but the last in this file`,
      );
    }
    // The further lines of a value are indented more than its option.
    return lines.map((line, at) =>
      at === 0 ? `${indent}${option}${this.between}${line}` : `${indent}\t${line}`,
    );
  }

  /** Comments between the lines of the value stay. */
  private replace({ lines: [first = 0, ...rest] }: Option, written: readonly string[]): void {
    for (const at of rest.toReversed()) this.lines.splice(at, 1);
    this.lines.splice(first, 1, ...written);
  }

  /** @param section where the option is; `undefined` for a section */
  private refuseDoubt(
    { doubtful }: IniLines,
    section: string | undefined,
    name: string,
    option?: Option,
  ): void {
    const other = doubtful.find((each) => each.section === section && each.name === name);
    const line = option?.doubt ?? other?.line;
    if (line === undefined) return;
    throw new StateFailure(
      `line ${line} is indented more than the option before it: a part of its value to some programs, and an option or a section to others; give continuation: indent or continuation: backslash`,
    );
  }
}

/** The indentation of the options of a section, or of the file. */
function indentIn({ sections }: IniLines, section: Section | undefined): string {
  const own = section?.options.at(-1) ?? sections.flatMap(({ options }) => options).at(-1);
  return own?.head === "" ? own.indent : "";
}
