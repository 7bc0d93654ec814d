import type { Plain } from "../../../base/msgpack.ts";
import { isMap } from "../../../base/plain-map.ts";
import { formatYaml, parseYaml, plainValue } from "../../../base/yaml/yaml.ts";
import { arg } from "../../../host/modules/mod.ts";
import { defineState, type StateContext, StateFailure } from "../../function/mod.ts";
import { yamlLikeSalt } from "../../template/mod.ts";
import { attributesOf, ownerArgs } from "./attributes.ts";
import { checkArg, checkWith } from "./check-command.ts";
import { type Content, contentOf } from "./content.ts";
import { readFixed, statIfPresent } from "./inspect.ts";
import { makedirsArg } from "./parents.ts";
import { pathOf } from "./path.ts";
import { backupArg, planFile, refuseBackup, showChangesArg } from "./plan-file.ts";

const formats = ["json", "yaml", "toml", "configparser"] as const;
type Format = (typeof formats)[number];
const formatArg = (doc: string) => arg.string(doc, { values: formats });

export const fileSerialize = defineState({
  name: "file.serialize",
  doc: "Ensures that a file holds data in a format that programs read. Keys are sorted, so that the same data is the same file.",
  args: {
    dataset: arg.any("The data."),
    dataset_pillar: arg.string("Name of the setting with the data, such as consul:config."),
    formatter: formatArg(
      "Format of the file; yaml by default. configparser is a map of sections with a map of options each.",
    ),
    serializer: formatArg("Alias of formatter."),
    serializer_opts: arg.any("Options of the format: indent, and sort_keys for json and yaml."),
    merge_if_exists: arg.boolean("Keeps what an existing file says in addition; false by default."),
    create: arg.boolean("Creates the file if it does not exist; true by default."),
    ...ownerArgs,
    mode: arg.mode("Permission bits; those of the existing file by default, or 0644."),
    makedirs: makedirsArg,
    dir_mode: arg.mode("Permission bits of directories created by makedirs; 0755 by default."),
    backup: backupArg,
    show_changes: showChangesArg,
    check_cmd: checkArg,
    encoding: arg.string("Encoding; files are always written in UTF-8.", { values: ["utf-8", "utf8"] }),
  },
  refuse(args) {
    if ((args.dataset === undefined) === (args.dataset_pillar === undefined)) {
      return "give either dataset or dataset_pillar";
    }
    if (args.formatter !== undefined && args.serializer !== undefined)
      return "give only one of formatter, serializer";
    if (optionsOf(args.serializer_opts) === undefined)
      return "serializer_opts: expected a map, or a list of maps";
    return refuseBackup(args.backup);
  },
  async plan(name, args, context) {
    const path = pathOf(name);
    const before = statIfPresent(path);
    if (args.create === false && before === undefined) {
      return { changes: {}, comment: `The file ${path} does not exist and is not created` };
    }
    const named = args.formatter ?? args.serializer;
    const format = formats.find((each) => each === named) ?? "yaml";
    const given =
      args.dataset_pillar === undefined ? (args.dataset ?? null) : settingOf(args.dataset_pillar, context);
    const present = args.merge_if_exists === true && before?.isFile() ? parse(path, format) : undefined;
    const data = present === undefined ? given : merged(present, given, path);
    const content: Content = contentOf(write(data, format, optionsOf(args.serializer_opts) ?? {}));
    return planFile(
      {
        path,
        content: args.dataset_pillar === undefined ? content : { ...content, secret: true },
        attributes: await attributesOf(args, context),
        makedirs: args.makedirs,
        dirMode: args.dir_mode,
        backup: args.backup,
        showChanges: args.show_changes,
        check: args.check_cmd === undefined ? undefined : checkWith(args.check_cmd, context),
      },
      context,
    );
  },
});

type PlainMap = { [key: string]: Plain };

function settingOf(name: string, context: StateContext): Plain {
  const value = context.settings.get(name);
  if (value === undefined) throw new StateFailure(`setting ${name} does not exist`);
  return value;
}

function optionsOf(options: Plain | undefined): PlainMap | undefined {
  if (options === undefined || options === null) return {};
  const maps = Array.isArray(options) ? options : [options];
  return maps.every(isMap) ? Object.assign({}, ...maps) : undefined;
}

/** The data of an existing file. @throws StateFailure when it does not have this format */
function parse(path: string, format: Format): Plain {
  const text = readFixed(path).toString("utf8");
  if (text.trim() === "") return {};
  if (format === "configparser")
    throw new StateFailure("merge_if_exists: use ini.options_present for this format");
  if (format === "toml") return parseToml(text, path);
  // JSON is YAML.
  return plainValue(parseYaml(text, path)) as Plain;
}

function merged(present: Plain, given: Plain, path: string): Plain {
  if (!isMap(present) || !isMap(given)) {
    throw new StateFailure(`merge_if_exists: the data and ${path} must both be maps`);
  }
  return merge(present, given);
}

function merge(present: PlainMap, given: PlainMap): PlainMap {
  const all = { ...present };
  for (const [key, value] of Object.entries(given)) {
    const old = Object.hasOwn(present, key) ? present[key] : undefined;
    all[key] = isMap(old) && isMap(value) ? merge(old, value) : value;
  }
  return all;
}

function write(data: Plain, format: Format, options: PlainMap): string {
  const sort = options.sort_keys !== false;
  const indent = typeof options.indent === "number" ? options.indent : 2;
  if (format === "json") return `${JSON.stringify(sort ? sorted(data) : data, null, indent)}\n`;
  // Other options are those of another writer.
  if (format === "yaml")
    return sort && indent === 2
      ? yamlLikeSalt(data)
      : formatYaml(sort ? sorted(data) : data, { indent, flatLists: true });
  if (format === "toml") return toml(sort ? sorted(data) : data);
  return sections(data);
}

/** TOML has no null, and nothing but a map is a document. */
function toml(data: Plain): string {
  if (!isMap(data)) throw new StateFailure("dataset: expected a map, which a TOML file is");
  try {
    const text = Bun.TOML.stringify(data);
    return text === "" || text.endsWith("\n") ? text : `${text}\n`;
  } catch (cause) {
    throw new StateFailure("dataset: TOML has no null, and no values of some kinds", {}, { cause });
  }
}

function parseToml(text: string, path: string): Plain {
  try {
    return Bun.TOML.parse(text) as Plain;
  } catch (cause) {
    throw new StateFailure(`${path} is not valid TOML`, {}, { cause });
  }
}

/** Sections with their options, as Python's configparser writes them. */
function sections(data: Plain): string {
  if (!isMap(data)) throw new StateFailure("dataset: expected a map of sections");
  return Object.entries(data)
    .map(([section, options]) => {
      if (!isMap(options)) throw new StateFailure(`dataset: ${section}: expected a map of options`);
      const lines = Object.entries(options).map(
        ([key, value]) => `${key.toLowerCase()} = ${lineOf(value)}\n`,
      );
      return `[${section}]\n${lines.join("")}\n`;
    })
    .join("");
}

function lineOf(value: Plain): string {
  if (value === true) return "True";
  if (value === false) return "False";
  // The further lines of a value begin with a tab.
  return typeof value === "object" ? JSON.stringify(value) : String(value).replaceAll("\n", "\n\t");
}

function sorted(value: Plain): Plain {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isMap(value)) return value;
  const keys = Object.keys(value).sort();
  return Object.fromEntries(keys.map((key) => [key, sorted(value[key] ?? null)]));
}
