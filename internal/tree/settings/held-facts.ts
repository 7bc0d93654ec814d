import { encodeBase64 } from "../../base/base64.ts";
import type { Random } from "../../base/id.ts";
import { parseYaml, plainValue, type YamlNode } from "../../base/yaml/yaml.ts";
import { faultAt } from "./fault.ts";

// While a template is rendered and parsed as YAML, a word that nobody can guess stands for each value of a fact.
// Only afterwards the value takes the place of its word, so that no character of it is ever read as structure.

// Characters for private use: no filter changes their case, and YAML has no meaning for them.
const privateUse = 0xe000;
const open = String.fromCharCode(privateUse);
const close = String.fromCharCode(privateUse + 1);
const digit = (value: number) => String.fromCharCode(privateUse + 16 + value);

/** Words that stand for values. */
export interface Words {
  /** The word for the value of this index. */
  of(index: number): string;
  /** Matches every word; its first group is the index in `digits`. */
  readonly pattern: RegExp;
  readonly mark: string;
}

/** Words of one process: the same for each peel, so that what is parsed can be shared. */
export function createWords(random: Random): Words {
  const secret = [...encodeBase64(random(24))].map((one) => digit(one.charCodeAt(0))).join("");
  const mark = open + secret;
  const digits = [...Array(10).keys()].map(digit).join("");
  return {
    mark,
    of: (index) => mark + [...String(index)].map((one) => digit(Number(one))).join("") + close,
    pattern: new RegExp(`${mark}([${digits}]+)${close}`, "g"),
  };
}

/** The values of facts in one rendered file. */
export class HeldFacts {
  private readonly words: Words;
  private values: { text: string; isData: boolean }[] = [];

  constructor(words: Words) {
    this.words = words;
  }

  /** Begins another file. */
  clear(): void {
    this.values = [];
  }

  /** @param isData whether a filter wrote the text as one YAML value @returns the word for the text */
  hold(text: string, isData: boolean): string {
    this.values.push({ text, isData });
    return this.words.of(this.values.length - 1);
  }

  isIn(text: string): boolean {
    return text.includes(this.words.mark);
  }

  /** The place of the first word in a tree, also in keys; `undefined` when there is none. */
  placeIn(node: YamlNode): YamlNode["at"] | undefined {
    if (node.kind === "scalar") return this.isHeld(node.value) ? node.at : undefined;
    if (node.kind === "list") return firstOf(node.items, (item) => this.placeIn(item));
    return firstOf(node.entries, ({ key, keyAt, value }) => (this.isIn(key) ? keyAt : this.placeIn(value)));
  }

  /**
   * The tree of a settings file with the values in their places.
   *
   * @param quoted the scalars with quotes or in block form, which are texts whatever is in them
   * @throws SettingsFault where a word is not in a value
   */
  fill(root: YamlNode, quoted: WeakSet<YamlNode>, label: string): YamlNode {
    if (root.kind === "scalar" && this.isHeld(root.value)) {
      throw faultAt(label, root.at, "expected a map of settings, found a fact");
    }
    const include = root.kind === "map" ? root.entries.find(({ key }) => key === "include") : undefined;
    const at = include === undefined ? undefined : this.placeIn(include.value);
    if (at !== undefined) throw faultAt(label, at, "include: the name of a file may not depend on facts");
    return this.filled(root, quoted, label);
  }

  private filled(node: YamlNode, quoted: WeakSet<YamlNode>, label: string): YamlNode {
    if (node.kind === "list") {
      return { ...node, items: node.items.map((item) => this.filled(item, quoted, label)) };
    }
    if (node.kind === "map") {
      const entries = node.entries.map(({ key, keyAt, value }) => {
        if (this.isIn(key)) throw faultAt(label, keyAt, "the name of a setting may not depend on facts");
        return { key, keyAt, value: this.filled(value, quoted, label) };
      });
      return { ...node, entries };
    }
    if (typeof node.value !== "string" || !this.isIn(node.value)) return node;
    const text = this.textOf(node.value, this.values.length);
    if (quoted.has(node)) return { kind: "scalar", value: text, at: node.at };
    return readAlone(text, this.isWhollyData(node.value), node.at);
  }

  private isHeld(value: unknown): boolean {
    return typeof value === "string" && this.isIn(value);
  }

  /** Only words that were made before stand for something in a held text: nothing refers to itself. */
  private textOf(text: string, before: number): string {
    return text.replace(this.words.pattern, (word, digits: string) => {
      const index = indexOf(digits);
      const held = index < before ? this.values[index] : undefined;
      return held === undefined ? word : this.textOf(held.text, index);
    });
  }

  private isWhollyData(text: string): boolean {
    const [found, ...more] = [...text.matchAll(this.words.pattern)];
    if (found === undefined || more.length > 0 || found[0] !== text.trim()) return false;
    const held = this.values[indexOf(found[1] ?? "")];
    return held !== undefined && (held.isData || (this.isIn(held.text) && this.isWhollyData(held.text)));
  }
}

function indexOf(digits: string): number {
  return Number([...digits].map((one) => one.charCodeAt(0) - digit(0).charCodeAt(0)).join(""));
}

/**
 * What YAML reads in a text that stands alone: a number, true, null or a text; a list only of `isData`. A map stays
 * the text that it is written as: its keys would be names of settings that the peel chose.
 */
function readAlone(text: string, isData: boolean, at: YamlNode["at"]): YamlNode {
  const asText: YamlNode = { kind: "scalar", value: text, at };
  if (!isData && text.trim().includes("\n")) return asText;
  try {
    const read = parseYaml(text, "fact");
    return read.kind === "scalar" || isData ? moved(read, at) : asText;
  } catch {
    return asText;
  }
}

function moved(node: YamlNode, at: YamlNode["at"]): YamlNode {
  if (node.kind === "scalar") return { ...node, at };
  if (node.kind === "list") return { ...node, at, items: node.items.map((item) => moved(item, at)) };
  return { kind: "scalar", value: JSON.stringify(plainValue(node)), at };
}

function firstOf<Item, Found>(
  items: readonly Item[],
  find: (item: Item) => Found | undefined,
): Found | undefined {
  for (const item of items) {
    const found = find(item);
    if (found !== undefined) return found;
  }
  return undefined;
}
