import { join } from "node:path";
import type { Path } from "../../base/document/read.ts";
import type { Schema } from "../../base/document/schemas.ts";
import type { Written } from "../../base/document/written.ts";

/** What a file or a flag may have for a key, and how its value is written. */
export interface OptionType<T> {
  /** Placeholder of the value in help and reference, such as `<url>`. */
  readonly placeholder: string;
  /** Name of the type in the reference. */
  readonly name: string;
  /** A switch: its flag needs no value, and `--no-<flag>` turns it off. */
  readonly isSwitch?: true;
  readonly schema: Schema<T>;
  /**
   * What a file would have in place of a flag; absent for the last text as it is.
   *
   * @param texts the value of each use of the flag, in order, at least one
   * @throws SvcError
   */
  fromFlag?(texts: readonly string[]): Written;
  /** What messages call a value inside; absent for its keys. */
  nameOf?(path: Path): readonly string[];
  /** The value in one line of YAML. */
  format(value: T): string;
}

/** A default that depends on the data directory or on other keys. */
export interface Derived<T> {
  /** The text in help and reference, such as `<auth_dir>/ca`. */
  readonly text: string;
  resolve(context: DefaultContext): T;
}

export interface DefaultContext {
  /** `SVC_DATA_DIR`, or `/data`. */
  readonly dataDir: string;
  /** The resolved value of a text key that is declared earlier in the table. */
  text(key: string): string;
}

/** One key. Its name in the file is its key in the table. */
export interface Option<T> {
  readonly group: string;
  readonly type: OptionType<T>;
  readonly default: T | Derived<T>;
  /** One line without a full stop. */
  readonly doc: string;
  /** Name of the flag, when it differs from the rule in the specification; `null` means no flag. */
  readonly flag?: string | null;
  /** The environment variable to use when the value is empty. */
  readonly variable?: string;
}

/** All keys of one program, in display order. */
export type OptionTable = Readonly<Record<string, Option<unknown>>>;

/** The resolved values of a table, by key. */
export type Values<Table extends OptionTable> = {
  readonly [Key in keyof Table]: Table[Key] extends { type: OptionType<infer T> } ? T : never;
};

/** A key without its group. */
type Grouped<T> = Omit<Option<T>, "group">;

/** Declares one key. */
export function option<T>(
  type: OptionType<T>,
  usual: NoInfer<T> | Derived<NoInfer<T>>,
  doc: string,
  rest: Pick<Option<T>, "flag" | "variable"> = {},
): Grouped<T> {
  return { type, default: usual, doc, ...rest };
}

/** The keys of a group, in display order. @param common what all of them have */
export function inGroup<const Table extends Readonly<Record<string, Grouped<unknown>>>>(
  group: string,
  table: Table,
  common: { flag?: null } = {},
): { readonly [Key in keyof Table]: Table[Key] & { readonly group: string } } {
  const entries = Object.entries(table).map(([key, declared]) => [key, { group, ...common, ...declared }]);
  return Object.fromEntries(entries);
}

/** A default inside the data directory. */
export function inDataDir(path: string): Derived<string> {
  return { text: join("/data", path), resolve: (context) => join(context.dataDir, path) };
}

/** A default inside the directory that another key names. */
export function inDirectoryOf(key: string, path: string): Derived<string> {
  return { text: `<${key}>/${path}`, resolve: (context) => join(context.text(key), path) };
}

/** Whether a default is computed. */
export function isDerived<T>(value: T | Derived<T>): value is Derived<T> {
  return typeof value === "object" && value !== null && "resolve" in value;
}

/** The default in human-readable form. */
export function defaultText(declared: Option<unknown>): string {
  return isDerived(declared.default) ? declared.default.text : declared.type.format(declared.default);
}

/** The description of a key as a sentence. If it starts with a value of the key, the case is kept. */
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
