import { join } from "node:path";
import type { TextPosition } from "../../base/place.ts";
import type { YamlNode } from "../../base/yaml.ts";

/** How the text of a file and of a flag becomes a value, and back. */
export interface OptionType<T> {
  /** What stands for the value in help and reference: `<url>`. */
  readonly placeholder: string;
  /** Name of the type in the reference. */
  readonly name: string;
  /** A switch: its flag needs no value, and `--no-<flag>` turns it off. */
  readonly isSwitch?: true;
  /** @throws Complaint */
  fromYaml(node: YamlNode): T;
  /**
   * @param texts the values of every use of the flag, in order, at least one
   * @throws Complaint
   */
  fromFlag(texts: readonly string[]): T;
  /** The value in one line of YAML. */
  format(value: T): string;
}

/** A default that follows from the data directory or from other keys. */
export interface Derived<T> {
  /** How help and reference write it: `<auth_dir>/ca`. */
  readonly text: string;
  resolve(context: DefaultContext): T;
}

export interface DefaultContext {
  /** `SVC_DATA_DIR`, or `/data`. */
  readonly dataDir: string;
  /** The resolved value of a key that stands earlier in the table and holds text. */
  text(key: string): string;
}

/** One key: what it is called in the file follows from its place in the table. */
export interface Option<T> {
  readonly group: string;
  readonly type: OptionType<T>;
  readonly default: T | Derived<T>;
  /** One line without a full stop. */
  readonly doc: string;
  /** Name of the flag where the rule of the specification does not give it; `null` for none. */
  readonly flag?: string | null;
  /** The environment variable that counts where the value is empty. */
  readonly variable?: string;
}

/** All keys of one program, in the order they are shown. */
export type OptionTable = Readonly<Record<string, Option<unknown>>>;

/** The resolved values of a table, by key. */
export type Values<Table extends OptionTable> = {
  readonly [Key in keyof Table]: Table[Key] extends { type: OptionType<infer T> } ? T : never;
};

/** Declares one key; it only fixes the types. */
export function option<T>(declared: {
  group: string;
  type: OptionType<T>;
  default: NoInfer<T> | Derived<NoInfer<T>>;
  doc: string;
  flag?: string | null;
  variable?: string;
}): Option<T> {
  return declared;
}

/** A default below the data directory. */
export function inDataDir(path: string): Derived<string> {
  return { text: join("/data", path), resolve: (context) => join(context.dataDir, path) };
}

/** A default below the directory that another key names. */
export function inDirectoryOf(key: string, path: string): Derived<string> {
  return { text: `<${key}>/${path}`, resolve: (context) => join(context.text(key), path) };
}

/** Whether a default is computed. */
export function isDerived<T>(value: T | Derived<T>): value is Derived<T> {
  return typeof value === "object" && value !== null && "resolve" in value;
}

/** The default as a person reads it. */
export function defaultText(declared: Option<unknown>): string {
  return isDerived(declared.default) ? declared.default.text : declared.type.format(declared.default);
}

/** What a key means, as a sentence. A value of the key that begins it stays as it is written. */
export function sentenceOf({ doc, type }: Option<unknown>): string {
  const [first = ""] = doc.split(" ");
  const isWord = /^[a-z]+$/.test(first) && !type.name.split(", ").includes(first);
  return `${isWord ? first.slice(0, 1).toUpperCase() : first.slice(0, 1)}${doc.slice(1)}.`;
}

/**
 * The flag of a key without its dashes: `_` and `.` become `-` (specification, "Master configuration").
 * `undefined` when it has none.
 */
export function flagOf(key: string, declared: Option<unknown>): string | undefined {
  if (declared.flag === null) return undefined;
  return declared.flag ?? key.replaceAll(/[._]/g, "-");
}

/** What is wrong with one value, without the key and the place: the loader knows those and adds them. */
export class Complaint extends Error {
  /** Where in the file, when that is more exact than the place of the key's value. */
  readonly at: TextPosition | undefined;

  constructor(message: string, at?: TextPosition) {
    super(message);
    this.at = at;
  }
}
