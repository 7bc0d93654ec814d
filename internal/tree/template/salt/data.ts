import { beginningOf, quote } from "../../../base/cut.ts";
import type { Plain } from "../../../base/msgpack.ts";
import { textOf } from "../../jinja/mod.ts";
import { Fault, fromPlain, toPlain, truthy, type Value, ValueMap } from "../../jinja/values/mod.ts";
import { formatJson } from "../json.ts";
import { blockYaml, flowYaml, mixedYaml } from "../yaml-text.ts";
import { looseFunction, type SaltFunction, saltFunction } from "./function.ts";
import { valueAt } from "./traverse.ts";

/** Functions that read and write data, and read files of the tree. */
export const dataFunctions: readonly SaltFunction[] = [
  looseFunction(
    "slsutil.serialize",
    ["serializer", "obj", "options…"],
    "Writes a value as json, yaml, toml or python.",
    ({ positional, named }) => {
      const [serializer = named.get("serializer"), value = named.get("obj")] = positional;
      return serialize(textOf(serializer ?? ""), value as Value, named);
    },
  ),
  looseFunction(
    "slsutil.deserialize",
    ["serializer", "stream_or_string", "options…"],
    "Reads a text as json, yaml or toml.",
    ({ positional, named }, tools) => {
      const [serializer = named.get("serializer"), text = named.get("stream_or_string")] = positional;
      const [format, written] = [textOf(serializer ?? ""), textOf(text as Value)];
      return format === "toml" ? fromToml(written) : tools.parse(formatOf(format), written);
    },
  ),
  looseFunction(
    "slsutil.renderer",
    ["path?", "string?", "default_renderer?", "variables…"],
    "Renders a file of the tree, or a text, as jinja|yaml, jinja|json, jinja, yaml or json, and returns what it says.",
    ({ positional, named }, tools) => {
      const [
        path = named.get("path") ?? null,
        text = named.get("string") ?? null,
        renderer = named.get("default_renderer") ?? "jinja|yaml",
      ] = positional;
      const pipe = textOf(renderer).split("|");
      const source = path === null || path === "" ? { text: textOf(text) } : { path: textOf(path) };
      const own = new Set(["path", "string", "default_renderer"]);
      const variables = new Map([...named].filter(([name]) => !own.has(name)));
      const isTemplate = pipe.includes("jinja");
      const written = isTemplate ? tools.render(source, variables) : plainText(source, tools.readFile);
      const last = pipe.at(-1);
      if (last === "jinja") return written;
      return tools.parse(formatOf(last ?? ""), written);
    },
  ),
  saltFunction(
    "slsutil.boolstr",
    ["value", "true?", "false?"],
    "Returns one of two texts.",
    ([value, yes = "true", no = "false"]) => (truthy(value as Value) ? yes : no),
  ),
  ...(["slsutil.file_exists", "slsutil.path_exists", "cp.is_file"] as const).map((name) =>
    saltFunction(
      name,
      ["path", "saltenv?"],
      "Returns whether the tree has this file.",
      ([path], { paths }) => {
        const wanted = treePath(textOf(path as Value));
        return paths().some(
          (each) => each === wanted || (name === "slsutil.path_exists" && each.startsWith(`${wanted}/`)),
        );
      },
    ),
  ),
  saltFunction(
    "slsutil.dir_exists",
    ["path", "saltenv?"],
    "Returns whether the tree has files in this directory.",
    ([path], { paths }) => {
      const wanted = treePath(textOf(path as Value));
      return paths().some((each) => each.startsWith(`${wanted}/`));
    },
  ),
  saltFunction(
    "cp.get_file_str",
    ["path", "saltenv?"],
    "Returns the text of a file of the tree; False if there is none.",
    ([path], { readFile }) => {
      const found = readFile(treePath(textOf(path as Value)));
      return found === undefined ? false : found;
    },
  ),
  saltFunction(
    "cp.list_master",
    ["saltenv?", "prefix?"],
    "Lists the files of the tree.",
    ([, prefix = ""], { paths, budget }) => {
      budget.make(paths().length);
      return paths().filter((each) => each.startsWith(textOf(prefix)));
    },
  ),
  saltFunction(
    "cp.list_master_dirs",
    ["saltenv?", "prefix?"],
    "Lists the directories of the tree.",
    ([, prefix = ""], { paths, budget }) => {
      budget.make(paths().length);
      return [...new Set(paths().flatMap(directoriesOf))]
        .filter((each) => each.startsWith(textOf(prefix)))
        .sort();
    },
  ),
  saltFunction(
    "cp.list_states",
    ["saltenv?"],
    "Lists the names of the state files.",
    (_, { paths, budget }) => {
      budget.make(paths().length);
      return paths()
        .filter((each) => each.endsWith(".sls"))
        .map((each) => each.replace(/(?:\/init)?\.sls$/, "").replaceAll("/", "."));
    },
  ),
  saltFunction(
    "defaults.get",
    ["key", "default?"],
    "Returns a value of defaults.yaml or defaults.json of a formula.",
    ([key, fallback = ""], tools) => {
      const path = textOf(key as Value);
      const [formula = ""] = path.split(":");
      const yaml = tools.readFile(`${formula}/defaults.yaml`);
      const json = yaml === undefined ? tools.readFile(`${formula}/defaults.json`) : undefined;
      const text = yaml ?? json;
      const read =
        text === undefined ? new ValueMap() : tools.parse(yaml === undefined ? "json" : "yaml", text);
      const defaults = new ValueMap([[formula, read]]);
      const found = valueAt(defaults, path);
      return found === undefined ? fallback : found;
    },
  ),
];

function serialize(serializer: string, value: Value, named: ReadonlyMap<string, Value>): Value {
  const isFlow = named.get("default_flow_style");
  switch (serializer) {
    case "yaml":
    case "yamlex":
      if (isFlow === true) return flowYaml(value);
      return isFlow === false ? blockYaml(value) : mixedYaml(value);
    case "json": {
      const indent = named.get("indent");
      return formatJson(value, {
        sorted: named.get("sort_keys") === true,
        indent: typeof indent === "number" ? indent : undefined,
      });
    }
    case "toml":
      return tomlOf(value);
    case "python":
      return textOf(value);
    default:
      throw new Fault(
        `slsutil.serialize: the serializer ${quote(serializer, 40)} is not available: use json, yaml, toml or python`,
      );
  }
}

/** @throws Fault for what TOML does not have */
function tomlOf(value: Value): string {
  const data = withoutNothing(toPlain(value));
  if (typeof data !== "object" || data === null || Array.isArray(data) || data instanceof Uint8Array) {
    throw new Fault("slsutil.serialize: a TOML document is a map");
  }
  try {
    return Bun.TOML.stringify(data);
  } catch (thrown) {
    throw new Fault(`slsutil.serialize: ${thrown instanceof Error ? thrown.message : "not TOML"}`);
  }
}

/** TOML has nothing that means nothing: such entries are left out. */
function withoutNothing(data: Plain): Plain {
  if (Array.isArray(data)) return data.filter((item) => item !== null).map(withoutNothing);
  if (typeof data !== "object" || data === null || data instanceof Uint8Array) return data;
  const kept = Object.entries(data).filter(([, item]) => item !== null);
  return Object.fromEntries(kept.map(([key, item]) => [key, withoutNothing(item)]));
}

/** @throws Fault */
function fromToml(text: string): Value {
  try {
    return fromPlain(Bun.TOML.parse(text) as Plain);
  } catch (thrown) {
    throw new Fault(`the text is not TOML: ${thrown instanceof Error ? thrown.message : "cannot be read"}`);
  }
}

function formatOf(name: string): "yaml" | "json" {
  if (name === "json" || name === "yaml") return name;
  throw new Fault(`the format ${quote(name, 40)} is not available here: use json or yaml`);
}

function plainText(
  source: { path: string } | { text: string },
  read: (path: string) => string | undefined,
): string {
  if ("text" in source) return source.text;
  const text = read(treePath(source.path));
  if (text === undefined)
    throw new Fault(`slsutil.renderer: the file ${beginningOf(source.path, 80)} does not exist`);
  return text;
}

/** `salt://x` and `svc://x` are the path x of the tree. */
export const treePath = (name: string): string =>
  name.replace(/^(?:salt|svc):\/\//, "").replace(/\?saltenv=.*$/, "");

function directoriesOf(path: string): string[] {
  const parts = path.split("/").slice(0, -1);
  return parts.map((_, at) => parts.slice(0, at + 1).join("/"));
}
