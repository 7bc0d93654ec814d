import type { Plain } from "../../base/msgpack.ts";
import {
  Fault,
  Float,
  fromPlain,
  isNumber,
  itemsOf,
  repr,
  toPlain,
  type Value,
  ValueMap,
} from "../jinja/mod.ts";
import { scalarStyle } from "./yaml-scalar.ts";

// YAML as Salt writes it, which is as PyYAML does: the keys of maps sorted, lines of 80 characters, lists in maps not
// indented, texts without quotes where YAML 1.1 reads them as texts. Two things differ. Flow style is one line
// unless it is asked for otherwise: a second one would need the indentation of the place where a template puts it. And
// texts that YAML 1.2 reads as numbers, such as 1e3, have quotes.

const width = 80;
const deepest = 100;

/**
 * A document in block style, without the line end at its end.
 *
 * @param isSalts whether it is Salt's to the byte
 * @throws Fault for what is not data
 */
export function blockYaml(value: Value, isSalts = false): string {
  return new Emitter(false, isSalts).document(value);
}

/** Plain data as a document in block style that ends with a line end. @throws Fault for what is not data */
export function yamlLikeSalt(value: Plain): string {
  return `${blockYaml(fromPlain(value))}\n`;
}

/**
 * A document in flow style.
 *
 * @param isSalts whether it is Salt's to the byte, whose lines end after 80 characters; it is one line otherwise
 * @throws Fault for what is not data
 */
export function flowYaml(value: Value, isSalts = false): string {
  return new Emitter(true, isSalts).document(value);
}

/** A document in block style, in which lists and maps of scalars are in flow style. @throws Fault for what is not data */
export function mixedYaml(value: Value): string {
  return new Emitter("leaves").document(value);
}

class Emitter {
  private readonly flows: boolean | "leaves";
  private readonly isSalts: boolean;
  private out = "";
  private column = 0;
  private indent = -1;
  /** Whether the last character is white space, and whether only white space and dashes are before it on its line. */
  private isSpace = true;
  private isIndented = true;
  private depth = 0;

  constructor(flows: boolean | "leaves", isSalts = false) {
    this.flows = flows;
    this.isSalts = isSalts;
  }

  document(value: Value): string {
    // A line that is the whole document is not between brackets: a comma in it needs no quotes.
    const isLine = typeof value === "string" && !/[\n\r\x85\u2028\u2029]/.test(value);
    const inFlow = this.flows === true && !isLine;
    this.node(value, { inMap: false, isKey: false, inFlow });
    return this.out.replace(/\n$/, "");
  }

  private node(value: Value, where: { inMap: boolean; isKey: boolean; inFlow: boolean }): void {
    if (this.depth > deepest) throw new Fault("a value is nested too deeply to be written");
    this.depth++;
    const items = itemsOf(value);
    const inFlow = where.inFlow || (this.flows === "leaves" && isLeaf(value));
    if (items !== undefined) {
      if (inFlow || items.length === 0 || where.isKey) this.flowList(items);
      else this.blockList(items, where.inMap);
    } else if (value instanceof ValueMap) {
      if (inFlow || value.size === 0 || where.isKey) this.flowMap(value);
      else this.blockMap(value);
    } else if (value instanceof Uint8Array) this.within(true, () => this.binary(value, where));
    else this.within(true, () => this.scalar(value, where));
    this.depth--;
  }

  private flowList(items: readonly Value[]): void {
    this.indicator("[", true, true);
    this.within(true, () => {
      for (const [at, item] of items.entries()) {
        if (at > 0) this.indicator(",", false);
        this.wrap();
        this.node(item, { inMap: false, isKey: false, inFlow: true });
      }
    });
    this.indicator("]", false);
  }

  private flowMap(map: ValueMap): void {
    this.indicator("{", true, true);
    this.within(true, () => {
      for (const [at, [key, item]] of sortedEntries(map).entries()) {
        if (at > 0) this.indicator(",", false);
        this.wrap();
        this.node(key, { inMap: true, isKey: true, inFlow: true });
        this.indicator(":", false);
        this.node(item, { inMap: true, isKey: false, inFlow: true });
      }
    });
    this.indicator("}", false);
  }

  private blockList(items: readonly Value[], inMap: boolean): void {
    // The items of a list in a map stand below its key.
    this.within(
      false,
      () => {
        for (const item of items) {
          this.newLine();
          this.indicator("-", true, false, true);
          this.node(item, { inMap: false, isKey: false, inFlow: false });
        }
      },
      inMap && !this.isIndented,
    );
  }

  private blockMap(map: ValueMap): void {
    this.within(false, () => {
      for (const [key, item] of sortedEntries(map)) {
        this.newLine();
        this.node(key, { inMap: true, isKey: true, inFlow: false });
        this.indicator(":", false);
        this.node(item, { inMap: true, isKey: false, inFlow: false });
      }
    });
  }

  private scalar(value: Value, { isKey, inFlow }: { isKey: boolean; inFlow: boolean }): void {
    if (typeof value !== "string") {
      this.plain(wordOf(value), false);
      return;
    }
    // In flow style only what wraps is split, also where it is not between brackets.
    const splits = !isKey && (this.isSalts || (this.flows !== true && !inFlow));
    // A line break in single quotes would be one in the document.
    const style = scalarStyle(value, {
      isKey: isKey || (inFlow && !this.isSalts),
      inFlow,
      isSalts: this.isSalts,
    });
    if (style === "plain") this.plain(value, splits);
    else if (style === "single") this.single(value, splits);
    else this.double(value, splits);
  }

  /** Bytes in base64: lines of their own, or one text between brackets. @throws Fault for a key */
  private binary(bytes: Uint8Array, { isKey, inFlow }: { isKey: boolean; inFlow: boolean }): void {
    if (isKey) throw new Fault("bytes cannot be a key of YAML");
    this.indicator("!!binary", true);
    const text = base64Lines(bytes);
    const isEnclosed = inFlow && this.depth > 1;
    if (text === "" || (this.flows === true && !this.isSalts)) this.double(text.replaceAll("\n", ""), false);
    else if (isEnclosed) this.double(text, this.isSalts);
    else {
      this.indicator("|", true);
      this.breakLine(1);
      for (const line of text.trimEnd().split("\n")) {
        this.newLine();
        this.write(line);
        this.breakLine(1);
      }
    }
  }

  private plain(text: string, splits: boolean): void {
    if (!this.isSpace) this.write(" ");
    this.isSpace = false;
    this.isIndented = false;
    this.words(text, splits, () => true);
  }

  private single(text: string, splits: boolean): void {
    this.indicator("'", true);
    let from = 0;
    for (const { 0: breaks, index } of text.matchAll(/\n+/g)) {
      this.quotedWords(text, from, index, splits);
      // One break would be read as a space.
      this.breakLine(breaks.length + 1);
      this.newLine();
      from = index + breaks.length;
    }
    this.quotedWords(text, from, text.length, splits);
    this.indicator("'", false);
  }

  private quotedWords(text: string, from: number, to: number, splits: boolean): void {
    const escaped = text.slice(from, to).replaceAll("'", "''");
    this.words(
      escaped,
      splits,
      (at, end) => (at !== 0 || from !== 0) && (end !== escaped.length || to !== text.length),
    );
  }

  /** Words of a text; a line ends at a single space when it is long. */
  private words(text: string, splits: boolean, mayEnd: (at: number, end: number) => boolean): void {
    for (const { 0: part, index } of text.matchAll(/ +|[^ ]+/g)) {
      const isBreak = part === " " && splits && this.column > width && mayEnd(index, index + 1);
      if (isBreak) {
        this.newLine();
        this.isSpace = false;
        this.isIndented = false;
      } else this.write(part);
    }
  }

  private double(text: string, splits: boolean): void {
    this.indicator('"', true);
    const characters = Array.from(text);
    let pending = "";
    for (const [at, character] of characters.entries()) {
      const escaped = escapedOf(character);
      const isInside = at > 0 && at < characters.length - 1;
      if (escaped !== undefined) {
        this.write(pending);
        pending = "";
        this.write(escaped);
      }
      const isLong = this.column + pending.length > width;
      if (isInside && (character === " " || escaped !== undefined) && isLong && splits) {
        this.write(`${pending}\\`);
        pending = "";
        this.newLine();
        this.isSpace = false;
        this.isIndented = false;
        if (character === " ") this.write("\\");
      }
      if (escaped === undefined) pending += character;
    }
    this.write(pending);
    this.indicator('"', false);
  }

  private within(isFlow: boolean, write: () => void, isFlat = false): void {
    const before = this.indent;
    if (before < 0) this.indent = isFlow ? 2 : 0;
    else if (!isFlat) this.indent = before + 2;
    write();
    this.indent = before;
  }

  private indicator(text: string, needsSpace: boolean, isSpace = false, keepsIndent = false): void {
    this.write(this.isSpace || !needsSpace ? text : ` ${text}`);
    this.isSpace = isSpace;
    this.isIndented = this.isIndented && keepsIndent;
  }

  /** Begins a line where the one before is long. */
  private wrap(): void {
    if (this.isSalts && this.column > width) this.newLine();
  }

  private newLine(): void {
    const indent = Math.max(0, this.indent);
    const isBehind = this.column > indent || (this.column === indent && !this.isSpace);
    if (this.out !== "" && (!this.isIndented || isBehind)) this.breakLine(1);
    if (this.column < indent) {
      this.isSpace = true;
      this.write(" ".repeat(indent - this.column));
    }
  }

  private breakLine(times: number): void {
    this.isSpace = true;
    this.isIndented = true;
    this.out += "\n".repeat(times);
    this.column = 0;
  }

  private write(text: string): void {
    this.out += text;
    this.column += text.length;
  }
}

/** A text in double quotes on one line, of ASCII alone. */
export function doubleQuoted(text: string): string {
  return `"${Array.from(text, (character) => (/^[ !#-[\]-~]$/.test(character) ? character : escapeOf(character))).join("")}"`;
}

/** Whether everything in a list or a map is a scalar. */
function isLeaf(value: Value): boolean {
  const items = value instanceof ValueMap ? value.values() : (itemsOf(value) ?? []);
  return items.every((item) => itemsOf(item) === undefined && !(item instanceof ValueMap));
}

/** Keys that can be compared are sorted. */
function sortedEntries(map: ValueMap): [Value, Value][] {
  const entries = map.entries();
  const isText = entries.every(([key]) => typeof key === "string");
  const isNumeric = entries.every(([key]) => isNumber(key));
  if (isText) return entries.sort(([one], [other]) => (String(one) < String(other) ? -1 : 1));
  if (isNumeric) return entries.sort(([one], [other]) => Number(repr(one)) - Number(repr(other)));
  return entries;
}

/** Base64 as Python writes it in lines of 76 characters, each with its end. */
export function base64Lines(bytes: Uint8Array): string {
  return Buffer.from(bytes)
    .toString("base64")
    .replace(/.{1,76}/g, "$&\n");
}

/** A value that is not a text as YAML has it. @throws Fault for what is not data */
export function wordOf(value: Value): string {
  if (value === null) return "null";
  if (typeof value === "boolean") return String(value);
  if (typeof value === "number" || value instanceof Float) {
    const text = repr(value);
    if (/^(?:nan|-?inf)$/.test(text)) return text.replace(/(nan|inf)/, ".$1");
    return /^-?\d+e/.test(text) ? text.replace("e", ".0e") : text;
  }
  toPlain(value);
  throw new Fault("this value cannot be written as YAML");
}

const escapes: Readonly<Record<string, string>> = {
  ...{
    "\0": "0",
    "\x07": "a",
    "\b": "b",
    "\t": "t",
    "\n": "n",
    "\v": "v",
    "\f": "f",
    "\r": "r",
    "\x1b": "e",
  },
  ...{ '"': '"', "\\": "\\", "\x85": "N", "\xa0": "_", "\u2028": "L", "\u2029": "P" },
};

/** How a character is written in double quotes; `undefined` for one that is written as it is. */
function escapedOf(character: string): string | undefined {
  if (/^[ !#-[\]-~\u00a0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd]$/.test(character)) return undefined;
  return escapeOf(character);
}

function escapeOf(character: string): string {
  const short = escapes[character];
  if (short !== undefined) return `\\${short}`;
  const code = (character.codePointAt(0) ?? 0).toString(16).toUpperCase();
  if (code.length <= 2) return `\\x${code.padStart(2, "0")}`;
  return code.length <= 4 ? `\\u${code.padStart(4, "0")}` : `\\U${code.padStart(8, "0")}`;
}
