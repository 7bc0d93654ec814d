import { codeText } from "./character.ts";
import { Classes } from "./character-class.ts";
import { Cursor, ExpressionError } from "./cursor.ts";
import { type Escape, readEscape } from "./escape.ts";

/** An expression of Python for the runtime. */
export interface Translated {
  source: string;
  /** The same at one place, if it is not empty there; its groups are one further on. `undefined`: never needed. */
  advancing: string | undefined;
  /** For the runtime: `v`, and `i`. */
  flags: string;
  /** The number of each named group. */
  names: ReadonlyMap<string, number>;
  groups: number;
  /** Groups whose value Python keeps where the runtime forgets it: those that a repetition may leave out. */
  forgotten: ReadonlySet<number>;
}

interface Flags {
  ascii: boolean;
  ignoreCase: boolean;
  multiline: boolean;
  dotAll: boolean;
}

const flagNames: Readonly<Record<string, keyof Flags | undefined>> = {
  a: "ascii",
  i: "ignoreCase",
  m: "multiline",
  s: "dotAll",
};

/** What was read, and what may follow it. */
interface Item {
  text: string;
  kind: "atom" | "assertion" | "position" | "repeated";
  /** Groups in it. */
  groups: number[];
}

/**
 * Translates an expression of Python's `re` into one of the runtime that matches the same. Everything is written out,
 * because the same characters mean other things to the runtime: `[^]]`, `{,3}`, `$`, `.`, `\w`, `\b`.
 *
 * @param flags letters of flags that hold for the whole expression: `a`, `i`, `m`, `s`
 * @throws ExpressionError for what Python refuses, and for what the runtime cannot do
 */
export function translatePython(pattern: string, flags = ""): Translated {
  const [inline = "", letters = ""] = /^\(\?([aiLmsux]+)\)/.exec(pattern) ?? [];
  const all = withFlags(
    { ascii: false, ignoreCase: false, multiline: false, dotAll: false },
    flags + letters,
  );
  const reader = new Reader(new Cursor(pattern.slice(inline.length)));
  const source = reader.whole(all);
  // Only these can match nothing before they try to match something.
  const advancing = reader.found.mayPreferNothing
    ? `(?=([\\s\\S]*))(?:${source.replace(/\\(\d+)\)/g, (_, group) => `\\${Number(group) + 1})`)})(?!\\1$)`
    : undefined;
  return { source, advancing, flags: all.ignoreCase ? "vi" : "v", ...reader.found };
}

function withFlags(flags: Flags, letters: string, value = true): Flags {
  const result = { ...flags };
  for (const letter of letters) {
    const name = flagNames[letter];
    if (letter === "x") throw new ExpressionError("the flag x is not supported");
    if (letter === "L") throw new ExpressionError("the flag L is not supported for text");
    if (letter === "u") result.ascii = false;
    else if (name !== undefined) result[name] = value;
  }
  return result;
}

class Reader {
  readonly found = {
    names: new Map<string, number>(),
    groups: 0,
    forgotten: new Set<number>(),
    mayPreferNothing: false,
  };
  private readonly cursor: Cursor;
  private readonly open = new Set<number>();
  /** Groups that may have no value behind the part that was read. */
  private readonly unset = new Set<number>();

  constructor(cursor: Cursor) {
    this.cursor = cursor;
  }

  whole(flags: Flags): string {
    const { text } = this.branches(flags);
    if (!this.cursor.atEnd()) throw new ExpressionError("unbalanced parenthesis");
    return text;
  }

  private branches(flags: Flags): { text: string; groups: number[] } {
    const parts: string[] = [];
    const groups: number[] = [];
    do {
      const branch = this.branch(flags);
      parts.push(branch.text);
      groups.push(...branch.groups);
      // Another branch leaves the groups of this one without a value.
      if (this.cursor.peek() !== "|" && parts.length === 1) break;
      this.found.mayPreferNothing = true;
      for (const group of branch.groups) this.unset.add(group);
    } while (this.cursor.take("|"));
    return { text: parts.join("|"), groups };
  }

  private branch(flags: Flags): { text: string; groups: number[] } {
    const items: Item[] = [];
    for (
      let next = this.cursor.peek();
      next !== "" && next !== "|" && next !== ")";
      next = this.cursor.peek()
    ) {
      if (this.cursor.take("(?#")) {
        if (!this.cursor.skipTo(")")) throw new ExpressionError("missing ), unterminated comment");
        continue;
      }
      const range = this.cursor.repetition();
      if (range !== undefined) items.push(this.repeated(items.pop(), range));
      else items.push(this.item(flags));
    }
    return { text: items.map(({ text }) => text).join(""), groups: items.flatMap(({ groups }) => groups) };
  }

  private repeated(item: Item | undefined, range: { min: number; max: number | undefined }): Item {
    if (item === undefined || item.kind === "position") throw new ExpressionError("nothing to repeat");
    if (item.kind === "repeated") throw new ExpressionError("multiple repeat");
    const lazy = this.cursor.take("?");
    if (lazy) this.found.mayPreferNothing = true;
    if (!lazy && this.cursor.peek() === "+")
      throw new ExpressionError("possessive repetition is not supported");
    const { min, max } = range;
    if (min === 0) for (const group of item.groups) this.unset.add(group);
    if (max === undefined || max > 1) {
      const mayBeEmpty = item.groups.length > 0 && matchesNothing(item.text);
      for (const group of item.groups)
        if (mayBeEmpty || this.unset.has(group)) this.found.forgotten.add(group);
    }
    const atom = item.kind === "assertion" ? `(?:${item.text})` : item.text;
    const times = max === min ? `{${min}}` : `{${min},${max ?? ""}}`;
    return { text: `${atom}${times}${lazy ? "?" : ""}`, kind: "repeated", groups: item.groups };
  }

  private item(flags: Flags): Item {
    const { cursor } = this;
    const atom = (text: string): Item => ({ text, kind: "atom", groups: [] });
    const position = (text: string): Item => ({ text, kind: "position", groups: [] });
    const next = cursor.next();
    if (next === "^") return position(flags.multiline ? "(?<![^\\n])" : "^");
    if (next === "$") return position(flags.multiline ? "(?![^\\n])" : "(?=\\n?$)");
    if (next === ".") return atom(flags.dotAll ? "[\\s\\S]" : "[^\\n]");
    if (next === "(") return this.group(flags);
    const classes = new Classes(flags.ascii);
    if (next === "[") return atom(classes.read(cursor));
    if (next !== "\\")
      return atom(/^[\p{L}\p{N}_ ]$/u.test(next) ? next : codeText(next.codePointAt(0) ?? 0));
    const read = readEscape(cursor, classes);
    if (read.kind === "text") return atom(read.text);
    if (read.kind === "position") return position(read.text);
    return atom(this.reference(read));
  }

  private reference({ group }: Escape & { kind: "group" }): string {
    const number = typeof group === "number" ? group : this.found.names.get(group);
    if (number === undefined) throw new ExpressionError(`unknown group name ${JSON.stringify(group)}`);
    if (number > this.found.groups) throw new ExpressionError(`invalid group reference ${number}`);
    if (this.open.has(number)) throw new ExpressionError("cannot refer to an open group");
    if (this.unset.has(number)) {
      throw new ExpressionError(`a reference to group ${number}, which may have no value, is not supported`);
    }
    return `(?:\\${number})`;
  }

  private group(flags: Flags): Item {
    const { cursor } = this;
    if (!cursor.take("?")) return this.capture(flags, undefined);
    if (cursor.take("P=")) {
      const text = this.reference({ kind: "group", group: cursor.name(")") });
      return { text, kind: "atom", groups: [] };
    }
    const kind = ["=", "!", "<=", "<!"].find((each) => cursor.take(each));
    if (kind !== undefined) return this.assertion(kind, flags);
    // The second form is that of JavaScript, and an error in Python.
    if (cursor.take("P<") || cursor.take("<")) return this.capture(flags, cursor.name(">"));
    if (cursor.take(">")) throw new ExpressionError("an atomic group (?>…) is not supported");
    if (cursor.take("(")) throw new ExpressionError("a conditional (?(…)…) is not supported");
    const { on, off, ends } = cursor.flags();
    if (ends) throw new ExpressionError("global flags not at the start of the expression");
    const inner = withFlags(withFlags(flags, on), off, false);
    const { text, groups } = this.inside(inner);
    const now = inner.ignoreCase === flags.ignoreCase ? "" : inner.ignoreCase ? "i" : "-i";
    return { text: `(?${now}:${text})`, kind: "atom", groups };
  }

  private assertion(kind: string, flags: Flags): Item {
    const { text, groups } = this.inside(flags);
    if (kind.endsWith("!")) for (const group of groups) this.unset.add(group);
    return { text: `(?${kind}${text})`, kind: "assertion", groups };
  }

  private capture(flags: Flags, name: string | undefined): Item {
    const number = ++this.found.groups;
    if (name !== undefined) {
      if (this.found.names.has(name))
        throw new ExpressionError(`redefinition of group name ${JSON.stringify(name)}`);
      this.found.names.set(name, number);
    }
    this.open.add(number);
    const { text, groups } = this.inside(flags);
    this.open.delete(number);
    return { text: `(${text})`, kind: "atom", groups: [number, ...groups] };
  }

  private inside(flags: Flags): { text: string; groups: number[] } {
    const inner = this.branches(flags);
    if (!this.cursor.take(")")) throw new ExpressionError("missing ), unterminated subpattern");
    return inner;
  }
}

/** Whether a part of an expression may match nothing; one that cannot be judged alone may. */
function matchesNothing(text: string): boolean {
  try {
    return new RegExp(`^(?:${text})$`, "v").test("");
  } catch {
    return true;
  }
}
