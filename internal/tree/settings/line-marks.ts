import type { TextPosition } from "../../base/place.ts";
import { tagsOf } from "../template/mod.ts";

// A template writes text, and the lines of the text are not those of the file. So the template is rendered a second
// time with a mark in front of everything that it writes, which tells where that is written. Where the text without its
// marks is not the same, a template inspected what it had written, and no lines are reported.

/** A line of a file. */
export interface SourceLine {
  readonly file: string;
  readonly line: number;
}

/** Puts marks into templates, and finds them in what these write. */
export interface LineMarks {
  /** The text of a template with its marks. @param file path of the template */
  mark(file: string, text: string): string;
  /**
   * Where each place of a rendered text was written.
   *
   * @param marked what the marked templates wrote
   * @param rendered what they wrote without marks
   * @returns `undefined` when the two differ
   */
  read(marked: string, rendered: string): ((at: TextPosition) => SourceLine | undefined) | undefined;
}

// Characters for private use, of which those that stand for facts are others.
const open = String.fromCharCode(0xf8f0);
const close = String.fromCharCode(0xf8f1);
const zero = 0xf8e0;
const digits = `[${String.fromCharCode(zero)}-${String.fromCharCode(zero + 9)}]`;

export function createLineMarks(): LineMarks {
  const lines: SourceLine[] = [];
  const markOf = (file: string, line: number): string => {
    lines.push({ file, line });
    const number = [...String(lines.length - 1)]
      .map((one) => String.fromCharCode(zero + Number(one)))
      .join("");
    return `${open}${number}${close}`;
  };
  return {
    mark(file, text) {
      let marked = "";
      let line = 1;
      let at = 0;
      /** Copies what is written as it is, with a mark in front of the first word of each line. */
      const literal = (to: number) => {
        for (const part of text.slice(at, to).split(/(?<=\n)/)) {
          const [space = ""] = /^\s*/.exec(part) ?? [];
          // A comment or a raw block may take the space in front of it away.
          const isPlain = part.length > space.length && !/^\{[%#]-/.test(part.slice(space.length));
          marked += isPlain ? space + markOf(file, line) + part.slice(space.length) : part;
          if (part.endsWith("\n")) line++;
        }
        at = to;
      };
      for (const { kind, from, to, trims, tokens } of tagsOf(text)) {
        literal(from);
        const writes = kind === "output" || tokens[0] === "filter";
        // The mark takes the space away in place of the tag.
        if (writes) marked += trims[0] === "-" ? `{{- "${markOf(file, line)}" }}` : markOf(file, line);
        const tag = text.slice(from, to);
        marked += tag;
        line += tag.split("\n").length - 1;
        at = to;
      }
      literal(text.length);
      return marked;
    },
    read(marked, rendered) {
      const pattern = new RegExp(`${open}(${digits}+)${close}`, "g");
      if (marked.replace(pattern, "") !== rendered) return undefined;
      const found = marked.split("\n").map((text) => {
        let removed = 0;
        return [...text.matchAll(pattern)].map(({ 0: mark, 1: number = "", index }) => {
          const column = index - removed + 1;
          removed += mark.length;
          return { column, source: lines[numberOf(number)] };
        });
      });
      return ({ line, column }) => {
        const own = found[line - 1] ?? [];
        const before = own.findLast((one) => one.column <= column) ?? own[0];
        if (before !== undefined) return before.source;
        // A value of several lines: the line that writes it is above.
        for (let above = line - 2; above >= 0; above--) {
          const last = found[above]?.at(-1);
          if (last !== undefined) return last.source;
        }
        return undefined;
      };
    },
  };
}

function numberOf(text: string): number {
  return Number([...text].map((one) => one.charCodeAt(0) - zero).join(""));
}
