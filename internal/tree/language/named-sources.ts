import type { YamlNode } from "../../base/yaml/yaml.ts";
import { treePath } from "../functions/mod.ts";
import type { DeclaredArg, DeclaredFunction } from "./declare.ts";

/** Files of the tree that a state needs: the first one that exists is taken. Lines are those of the rendered text. */
export interface NamedSource {
  /** The argument. */
  argument: string;
  /** As written: `svc://web/x.conf`. */
  names: readonly string[];
  isDirectory: boolean;
  line: number;
}

/** Arguments that name files. */
const ofFiles: ReadonlySet<string> = new Set(["source", "source_hash", "key_url"]);

/** The files that a state takes from the tree; none where another place may have them. */
export function sourcesOf(id: string, { function: name, args, line }: DeclaredFunction): NamedSource[] {
  const isDirectory = name === "file.recurse";
  const found: NamedSource[] = [];
  const add = (argument: string, names: readonly string[], at: number) => {
    if (names.length > 0 && names.every((each) => treePath(each) !== undefined))
      found.push({ argument, names, isDirectory, line: at });
  };
  const read = (arg: DeclaredArg) => {
    if (ofFiles.has(arg.name)) add(arg.name, textsOf(arg.node), arg.line);
    else if (arg.name === "sources") {
      for (const each of valuesOf(arg.node)) add(arg.name, textsOf(each), each.at.line);
    } else if (arg.name === "names") {
      for (const own of entriesOf(arg.node).flatMap(({ value }) => entriesOf(value))) {
        read({ name: own.key, node: own.value, file: arg.file, line: own.keyAt.line });
      }
    }
  };
  for (const arg of args) read(arg);
  if (name !== "cmd.script" || args.some((arg) => arg.name === "source" || arg.name === "names"))
    return found;
  const named = args.find((arg) => arg.name === "name");
  // Its name may have arguments behind the script, and a script may have a space in its name.
  const [whole = id] = named === undefined ? [] : textsOf(named.node);
  add("name", [whole, whole.split(/\s/)[0] ?? ""], named?.line ?? line);
  return found;
}

function textsOf(node: YamlNode): string[] {
  const nodes = node.kind === "list" ? node.items : [node];
  return nodes.flatMap((each) =>
    each.kind === "scalar" && typeof each.value === "string" ? [each.value] : [],
  );
}

/** The entries of a map, or of the maps in a list. */
function entriesOf(node: YamlNode) {
  const nodes = node.kind === "list" ? node.items : [node];
  return nodes.flatMap((each) => (each.kind === "map" ? each.entries : []));
}

const valuesOf = (node: YamlNode): YamlNode[] => entriesOf(node).map(({ value }) => value);
