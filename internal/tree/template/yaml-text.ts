import type { Plain } from "../../base/msgpack.ts";
import { repr } from "../jinja/mod.ts";
import { Fault, fromPlain, isNumber, itemsOf, type Value, ValueMap } from "../jinja/values/mod.ts";
import { YamlLines } from "./yaml-lines.ts";
import { scalarStyle } from "./yaml-scalar.ts";
import { base64Lines, wordOf } from "./yaml-word.ts";

// YAML as Salt writes it, which is as PyYAML does with libyaml: the keys of maps sorted, lines of 80 characters, lists in maps not
// indented, texts without quotes where YAML 1.1 reads them as texts. Two things differ. Flow style is one line
// unless it is asked for otherwise: a second one would need the indentation of the place where a template puts it. And
// texts that YAML 1.2 reads as numbers, such as 1e3, have quotes.

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
  private readonly lines = new YamlLines();
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
    return this.lines.text.replace(/\n$/, "");
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
    } else if (value instanceof Uint8Array) this.lines.within(true, () => this.binary(value, where));
    else this.lines.within(true, () => this.scalar(value, where));
    this.depth--;
  }

  private flowList(items: readonly Value[]): void {
    this.lines.indicator("[", true, true);
    this.lines.within(true, () => {
      for (const [at, item] of items.entries()) {
        if (at > 0) this.lines.indicator(",", false);
        if (this.isSalts) this.lines.wrap();
        this.node(item, { inMap: false, isKey: false, inFlow: true });
      }
    });
    this.lines.indicator("]", false);
  }

  private flowMap(map: ValueMap): void {
    this.lines.indicator("{", true, true);
    this.lines.within(true, () => {
      for (const [at, [key, item]] of sortedEntries(map).entries()) {
        if (at > 0) this.lines.indicator(",", false);
        if (this.isSalts) this.lines.wrap();
        this.node(key, { inMap: true, isKey: true, inFlow: true });
        this.lines.indicator(":", false);
        this.node(item, { inMap: true, isKey: false, inFlow: true });
      }
    });
    this.lines.indicator("}", false);
  }

  private blockList(items: readonly Value[], inMap: boolean): void {
    // The items of a list in a map stand below its key.
    this.lines.within(
      false,
      () => {
        for (const item of items) {
          this.lines.newLine();
          this.lines.indicator("-", true, false, true);
          this.node(item, { inMap: false, isKey: false, inFlow: false });
        }
      },
      inMap && !this.lines.isIndented,
    );
  }

  private blockMap(map: ValueMap): void {
    this.lines.within(false, () => {
      for (const [key, item] of sortedEntries(map)) {
        this.lines.newLine();
        this.node(key, { inMap: true, isKey: true, inFlow: false });
        this.lines.indicator(":", false);
        this.node(item, { inMap: true, isKey: false, inFlow: false });
      }
    });
  }

  private scalar(value: Value, { isKey, inFlow }: { isKey: boolean; inFlow: boolean }): void {
    if (typeof value !== "string") {
      this.lines.plain(wordOf(value), false);
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
    if (style === "plain") this.lines.plain(value, splits);
    else if (style === "single") this.lines.single(value, splits);
    else this.lines.double(value, splits);
  }

  /** Bytes in base64: lines of their own, or one text between brackets. @throws Fault for a key */
  private binary(bytes: Uint8Array, { isKey, inFlow }: { isKey: boolean; inFlow: boolean }): void {
    if (isKey) throw new Fault("bytes cannot be a key of YAML");
    this.lines.indicator("!!binary", true);
    const text = base64Lines(bytes);
    const isEnclosed = inFlow && this.depth > 1;
    if (text === "" || (this.flows === true && !this.isSalts))
      this.lines.double(text.replaceAll("\n", ""), false);
    else if (isEnclosed) this.lines.double(text, this.isSalts);
    else {
      this.lines.indicator("|", true);
      this.lines.breakLine(1);
      for (const line of text.trimEnd().split("\n")) {
        this.lines.newLine();
        this.lines.write(line);
        this.lines.breakLine(1);
      }
    }
  }
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
