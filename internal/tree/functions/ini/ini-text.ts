/** The lines of a section or an option. */
interface Span {
  from: number;
  /** The line after the last one. */
  to: number;
}

interface Section extends Span {
  options: Map<string, Span & { value: string | undefined }>;
}

/**
 * A text of sections and options that is edited in place: comments, order and everything else stay. The section
 * "" has the lines before the first section.
 */
export class IniText {
  private lines: string[];
  private readonly separator: string;
  private readonly between: string;
  private readonly end: string;

  /** @param separator `=` or `:`, or white space @param spaced writes white space around the separator */
  constructor(text: string, { separator = "=", spaced = true } = {}) {
    this.lines = text === "" ? [] : (text.endsWith("\n") ? text.slice(0, -1) : text).split("\n");
    // A last line without a line break keeps that.
    this.end = text === "" || text.endsWith("\n") ? "\n" : "";
    this.separator = separator.trim();
    this.between = spaced && this.separator !== "" ? ` ${this.separator} ` : this.separator || " ";
  }

  text(): string {
    return this.lines.length === 0 ? "" : `${this.lines.join("\n")}${this.end}`;
  }

  /** Names of the sections, without the lines before the first one. */
  sections(): string[] {
    return [...this.read().keys()].filter((name) => name !== "");
  }

  options(section: string): string[] {
    return [...(this.read().get(section)?.options.keys() ?? [])];
  }

  has(section: string): boolean {
    return this.read().has(section);
  }

  /** The value of an option; empty for one without a value, `undefined` when there is none. */
  get(section: string, option: string): string | undefined {
    const found = this.read().get(section)?.options.get(option);
    return found === undefined ? undefined : (found.value ?? "");
  }

  /** Adds a section without options, if it is missing. */
  add(section: string): void {
    if (this.has(section)) return;
    if (this.lines.length > 0 && this.lines.at(-1)?.trim() !== "") this.lines.push("");
    this.lines.push(`[${section}]`);
  }

  /** @param value `undefined` writes the option alone */
  set(section: string, option: string, value: string | undefined): void {
    // The further lines of a value begin with white space.
    const written =
      value === undefined ? option : `${option}${this.between}${value.replaceAll("\n", "\n\t")}`;
    const found = this.read().get(section)?.options.get(option);
    if (found !== undefined) {
      this.lines.splice(found.from, found.to - found.from, ...written.split("\n"));
      return;
    }
    if (section !== "") this.add(section);
    const place = this.read().get(section);
    let at = place?.to ?? 0;
    while (at > (place?.from ?? 0) + (section === "" ? 0 : 1) && this.lines[at - 1]?.trim() === "") at--;
    this.lines.splice(at, 0, ...written.split("\n"));
  }

  remove(section: string, option: string): void {
    const found = this.read().get(section)?.options.get(option);
    if (found !== undefined) this.lines.splice(found.from, found.to - found.from);
  }

  removeSection(section: string): void {
    const found = this.read().get(section);
    if (found !== undefined) this.lines.splice(found.from, found.to - found.from);
  }

  private read(): Map<string, Section> {
    const found = new Map<string, Section>();
    let section: Section = { from: 0, to: 0, options: new Map() };
    found.set("", section);
    let last: (Span & { value: string | undefined }) | undefined;
    for (const [at, line] of this.lines.entries()) {
      const [, name] = /^\s*\[([^\]]+)\]\s*(?:[#;].*)?$/.exec(line) ?? [];
      if (name !== undefined) {
        section = { from: at, to: at + 1, options: new Map() };
        found.set(name, section);
        last = undefined;
        continue;
      }
      section.to = at + 1;
      if (line.trim() === "" || /^\s*[#;]/.test(line)) {
        last = undefined;
      } else if (/^\s/.test(line) && last !== undefined) {
        last.to = at + 1;
        last.value = `${last.value ?? ""}\n${line.trim()}`;
      } else {
        const { option, value } = this.readOption(line);
        last = { from: at, to: at + 1, value };
        // Of options that are written twice the last one counts.
        section.options.set(option, last);
      }
    }
    return found;
  }

  private readOption(line: string): { option: string; value: string | undefined } {
    const trimmed = line.trim();
    const at = this.separator === "" ? trimmed.search(/\s/) : trimmed.indexOf(this.separator);
    if (at < 0) return { option: trimmed, value: undefined };
    const value = trimmed.slice(at + Math.max(1, this.separator.length)).trim();
    return { option: trimmed.slice(0, at).trim(), value };
  }
}
