import { quote } from "../../base/cut.ts";
import { isNothing, type YamlEntry, type YamlNode } from "../../base/yaml/yaml.ts";
import type { Place, Problems } from "../function/mod.ts";
import type { RenderedFile } from "./render.ts";

/** An argument as written in a state file. */
export interface DeclaredArg extends Place {
  name: string;
  node: YamlNode;
}

/** A state function under an id. */
export interface DeclaredFunction extends Place {
  /** `file.managed`; empty in an `extend` that names only the module. */
  function: string;
  module: string;
  args: DeclaredArg[];
  /** Whether it comes after the states of all files: an `extend` added it. */
  isLate?: boolean;
}

/** An id with its functions. */
export interface Declaration extends Place {
  id: string;
  sls: string;
  functions: DeclaredFunction[];
}

/** The parsed content of a state file. */
export interface DeclaredFile {
  sls: string;
  path: string;
  /** The file that includes this one, the one that includes that, and so on; of several, the first that was read. */
  includedFrom?: readonly string[];
  includes: readonly ({ name: string } & Place)[];
  declarations: readonly Declaration[];
  extends: readonly Declaration[];
  excludes: readonly Excluded[];
}

/** What `exclude` takes out of a run: a state file, or an id. */
export interface Excluded extends Place {
  kind: "sls" | "id";
  name: string;
}

/** Reads the three spellings of a declaration. Adds every error to `problems`. */
export function readDeclarations(
  sls: string,
  file: Pick<RenderedFile, "path" | "root">,
  problems: Problems,
): DeclaredFile {
  const reader = new Reader(sls, file.path, problems);
  return reader.file(file.root);
}

class Reader {
  private readonly sls: string;
  private readonly path: string;
  private readonly problems: Problems;

  constructor(sls: string, path: string, problems: Problems) {
    this.sls = sls;
    this.path = path;
    this.problems = problems;
  }

  file(root: YamlNode): DeclaredFile {
    const found = { sls: this.sls, path: this.path };
    const declarations: Declaration[] = [];
    let includes: ({ name: string } & Place)[] = [];
    let extended: Declaration[] = [];
    let excludes: Excluded[] = [];
    for (const entry of this.mapOf(root, "expected a map of ids in a state file")) {
      if (entry.key === "include") includes = this.includes(entry);
      else if (entry.key === "extend") {
        extended = this.mapOf(entry.value, "extend: expected a map of ids").map((each) =>
          this.declaration(each, true),
        );
      } else if (entry.key === "exclude") excludes = this.excludes(entry);
      else declarations.push(this.declaration(entry, false));
    }
    return { ...found, includes, declarations, extends: extended, excludes };
  }

  private includes(entry: YamlEntry): ({ name: string } & Place)[] {
    const items = entry.value.kind === "list" ? entry.value.items : [entry.value];
    return items.flatMap((item) => {
      if (item.kind === "scalar" && typeof item.value === "string") {
        return [{ name: item.value, ...this.at(item) }];
      }
      this.problems.add("include: expected the name of a state file, such as web.nginx", this.at(item));
      return [];
    });
  }

  private excludes(entry: YamlEntry): Excluded[] {
    const items = entry.value.kind === "list" ? entry.value.items : [entry.value];
    return items.flatMap((item): Excluded[] => {
      const place = this.at(item);
      if (item.kind === "scalar" && typeof item.value === "string") {
        return [{ kind: "id", name: item.value, ...place }];
      }
      const read = (item.kind === "map" ? item.entries : []).flatMap(({ key, value }): Excluded[] =>
        (key === "sls" || key === "id") && value.kind === "scalar" && typeof value.value === "string"
          ? [{ kind: key, name: value.value, ...place }]
          : [],
      );
      if (read.length === 0)
        this.problems.add('exclude: expected items of the form "- sls: name" or "- id: name"', place);
      return read;
    });
  }

  private declaration({ key: id, keyAt, value }: YamlEntry, extending: boolean): Declaration {
    const place = { file: this.path, line: keyAt.line };
    const functions: DeclaredFunction[] = [];
    for (const { key, at, body } of this.functionsOf(id, value, place)) {
      const read = this.function(key, { file: this.path, line: at }, body, extending);
      if (read === undefined) continue;
      const twice = functions.find(({ module }) => module === read.module);
      if (twice === undefined) functions.push(read);
      else {
        this.problems.add(`${id} has two states of the module ${read.module}: give one of them its own id`, {
          file: this.path,
          line: at,
        });
      }
    }
    return { id, sls: this.sls, functions, ...place };
  }

  private functionsOf(
    id: string,
    value: YamlNode,
    place: Place,
  ): { key: string; at: number; body: YamlNode | undefined }[] {
    if (value.kind === "map") {
      return value.entries.map(({ key, keyAt, value: body }) => ({ key, at: keyAt.line, body }));
    }
    const items = value.kind === "list" ? value.items : [value];
    const read = items.flatMap((item) => {
      if (item.kind === "map") return this.functionsOf(id, item, place);
      if (item.kind === "scalar" && typeof item.value === "string") {
        return [{ key: item.value, at: item.at.line, body: undefined }];
      }
      return [];
    });
    if (read.length === 0) this.problems.add(`${id} has no state function, such as file.managed`, place);
    return read;
  }

  private function(
    key: string,
    place: Place,
    body: YamlNode | undefined,
    extending: boolean,
  ): DeclaredFunction | undefined {
    const [module = "", name, ...more] = key.split(".");
    if (more.length > 0 || module === "") {
      this.problems.add(`${quote(key)} is not a state function: expected module.function`, place);
      return undefined;
    }
    const { args, words } = this.arguments(body);
    const written = name === undefined ? words : [name, ...words];
    if (written.length === 1 || (extending && written.length === 0)) {
      return { function: written.length === 0 ? "" : `${module}.${written[0]}`, module, args, ...place };
    }
    this.problems.add(
      written.length === 0
        ? `${key} does not name a function: write ${key}.function, or name the function in the first item below it`
        : `${key} has more than one function (${written.join(", ")}): write arguments as "- name: value"`,
      place,
    );
    return undefined;
  }

  private arguments(body: YamlNode | undefined): { args: DeclaredArg[]; words: string[] } {
    const args: DeclaredArg[] = [];
    const words: string[] = [];
    if (body === undefined || isNothing(body)) return { args, words };
    for (const item of body.kind === "list" ? body.items : [body]) {
      if (item.kind === "map") {
        for (const { key, keyAt, value } of item.entries) {
          args.push({ name: key, node: value, file: this.path, line: keyAt.line });
        }
      } else if (item.kind === "scalar" && typeof item.value === "string") words.push(item.value);
      else this.problems.add('expected an argument in the form "- name: value"', this.at(item));
    }
    return { args, words };
  }

  private mapOf(node: YamlNode, expected: string): readonly YamlEntry[] {
    if (node.kind === "map") return node.entries;
    if (!isNothing(node)) this.problems.add(expected, this.at(node));
    return [];
  }

  private at(node: YamlNode): Place {
    return { file: this.path, line: node.at.line };
  }
}
