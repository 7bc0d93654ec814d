import * as v from "valibot";
import { quote } from "../../base/cut.ts";
import { keysOf, type NameOf, readDocument } from "../../base/document/read.ts";
import { fields, type Schema } from "../../base/document/schemas.ts";
import { suggestion } from "../../base/nearest.ts";
import type { TextPosition } from "../../base/place.ts";
import { type Option, type OptionTable, sentenceOf } from "./option.ts";
import { nameInSection, type Section, sectionsOf } from "./section.ts";

/** A value and its position in the file. */
export interface FileValue {
  readonly value: unknown;
  readonly at: TextPosition;
}

/**
 * Reads every key of a file, strictly: dotted keys are nested maps, and unknown keys are errors.
 *
 * @param tables the tables whose keys the file may hold
 * @returns the values by dotted key
 * @throws SvcError `bad_request`: `<file>:<line>:<column>: <reason>`
 */
export function readKeys(
  file: string,
  content: string,
  tables: readonly OptionTable[],
): Map<string, FileValue> {
  const options: OptionTable = Object.assign({}, ...tables);
  const document = readDocument(content, file, configFile(options), nameOf(options));
  const values = new Map<string, FileValue>();
  for (const key of Object.keys(options)) {
    const path = key.split(".");
    const value = path.reduce<unknown>(
      (map, name) => (map as Values | null | undefined)?.[name],
      document.value,
    );
    if (value !== undefined) values.set(key, { value, at: document.at(path) });
  }
  return values;
}

type Values = Readonly<Record<string, unknown>>;

/** What a file with these keys may hold. A section may be empty: then its keys are commented out. */
export function configFile(options: OptionTable): Schema<Values | null> {
  const unknown = unknownKey(Object.keys(options));
  const sectionOf = ({ keys, sections }: Section, prefix: string): Schema<Values | null> => {
    const own = keys.map((key) => {
      const option = options[key];
      return [nameInSection(key), option === undefined ? v.never() : described(option)] as const;
    });
    const inner = sections.map((each) => [each.name, sectionOf(each, `${prefix}${each.name}.`)] as const);
    const entries = [...own, ...inner].map(([name, schema]) => [name, v.exactOptional(schema)] as const);
    const name = prefix === "" ? "" : `${prefix.slice(0, -1)}: `;
    return v.nullable(
      fields(Object.fromEntries(entries), {
        unknown: (key) => unknown(prefix + key),
        another: (found) => `${name}expected a map of keys, found ${found}`,
      }),
    );
  };
  return sectionOf(sectionsOf(Object.keys(options)), "");
}

/** Editors show what an option is for. */
const described = (option: Option<unknown>) => v.pipe(option.type.schema, v.description(sentenceOf(option)));

function unknownKey(keys: readonly string[]): (path: string) => string {
  const sections = keys.flatMap((key) => [...key.matchAll(/\./g)].map(({ index }) => key.slice(0, index)));
  return (path) => {
    const [section, ...rest] = path.split(".");
    const hint = keys.includes(path)
      ? `: write it nested, as ${section}: {${rest.join(".")}: ...}`
      : suggestion(path, [...keys, ...new Set(sections)]);
    return `unknown key ${quote(path)}${hint}`;
  };
}

/** The dotted key, then what its type calls a value inside. Problems of sections name them. */
const nameOf =
  (options: OptionTable): NameOf =>
  (path) => {
    for (const at of path.keys()) {
      const key = path.slice(0, at + 1).join(".");
      const type = Object.hasOwn(options, key) ? options[key]?.type : undefined;
      if (type !== undefined) return [key, ...(type.nameOf ?? keysOf)(path.slice(at + 1))];
    }
    return [];
  };
