import type { SvcError } from "../../base/errors.ts";
import { suggestion } from "../../base/nearest.ts";
import { fileError, type TextPosition } from "../../base/place.ts";
import { isNothing, kindOf, parseYaml, type YamlEntry, type YamlNode } from "../../base/yaml.ts";
import { Complaint, type Option, type OptionTable } from "./option.ts";

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
  const root = parseYaml(content, file);
  const keys = new KeyReader(file, new Map(tables.flatMap((table) => Object.entries(table))));
  if (root.kind === "map") keys.read(root.entries, "");
  else if (!isNothing(root)) {
    throw fileError(file, root.at, `expected a map of keys, found ${kindOf(root)}`);
  }
  return keys.values;
}

class KeyReader {
  readonly values = new Map<string, FileValue>();
  private readonly file: string;
  private readonly options: ReadonlyMap<string, Option<unknown>>;
  private readonly sections: ReadonlySet<string>;

  constructor(file: string, options: ReadonlyMap<string, Option<unknown>>) {
    this.file = file;
    this.options = options;
    this.sections = new Set([...options.keys()].flatMap(sectionsAround));
  }

  read(entries: readonly YamlEntry[], section: string): void {
    for (const { key, keyAt, value } of entries) {
      const path = section === "" ? key : `${section}.${key}`;
      const declared = key.includes(".") ? undefined : this.options.get(path);
      if (declared !== undefined) this.values.set(path, this.value(path, declared, value));
      else if (!key.includes(".") && this.sections.has(path)) this.section(path, value);
      else throw this.unknown(path, keyAt);
    }
  }

  private section(name: string, node: YamlNode): void {
    if (node.kind === "map") this.read(node.entries, name);
    // Nothing at all is a section whose keys are commented out.
    else if (!isNothing(node)) {
      throw fileError(this.file, node.at, `${name}: expected a map of keys, found ${kindOf(node)}`);
    }
  }

  private value(key: string, declared: Option<unknown>, node: YamlNode): FileValue {
    try {
      return { value: declared.type.fromYaml(node), at: node.at };
    } catch (thrown) {
      if (!(thrown instanceof Complaint)) throw thrown;
      throw fileError(this.file, thrown.at ?? node.at, `${key}: ${thrown.message}`);
    }
  }

  private unknown(path: string, at: TextPosition): SvcError {
    const [section, ...rest] = path.split(".");
    const hint = this.options.has(path)
      ? `: write it nested, as ${section}: {${rest.join(".")}: ...}`
      : suggestion(path, [...this.options.keys(), ...this.sections]);
    return fileError(this.file, at, `unknown key ${JSON.stringify(path.slice(0, 80))}${hint}`);
  }
}

/** The dotted names of the sections around a key. */
function sectionsAround(key: string): string[] {
  const names = key.split(".").slice(0, -1);
  return names.map((_, at) => names.slice(0, at + 1).join("."));
}
