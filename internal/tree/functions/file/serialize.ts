import { keepLineEnds } from "../../../base/files/line-ends.ts";
import type { Plain } from "../../../base/msgpack.ts";
import { isMap } from "../../../base/plain-map.ts";
import { formatYaml } from "../../../base/yaml/yaml.ts";
import { arg } from "../../../host/modules/mod.ts";
import { defineState, type StateContext, StateFailure } from "../../function/mod.ts";
import { yamlLikeSalt } from "../../template/mod.ts";
import { type PlainMap, requireExact } from "../documents/splice.ts";
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
    merge_if_exists: arg.boolean(
      "Keeps everything else in an existing file as it is written, also comments; false by default. New keys come last.",
    ),
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
    const options = optionsOf(args.serializer_opts) ?? {};
    const isMerged = args.merge_if_exists === true && before?.isFile();
    const text = isMerged ? await merged(path, given, format, options) : write(given, format, options);
    const content: Content = contentOf(text);
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

/** The text of an existing file with these data, and everything else in it as it is written. */
async function merged(path: string, given: Plain, format: Format, options: PlainMap): Promise<string> {
  const whole = readFixed(path).toString("utf8");
  // Parsers do not expect the mark, and it stays.
  const mark = whole.startsWith("\ufeff") ? "\ufeff" : "";
  const text = whole.slice(mark.length);
  if (text.trim() === "") return write(given, format, options);
  if (format === "configparser")
    throw new StateFailure("merge_if_exists: use ini.options_present for this format");
  if (!isMap(given)) throw new StateFailure(`merge_if_exists: the data and ${path} must both be maps`);
  // Loaded here, because few runs need the parsers.
  if (format === "toml") {
    const { editToml } = await import("../documents/edit-toml.ts");
    return mark + keepLineEnds(text, (plain) => editToml(plain, given, path));
  }
  if (format === "yaml") {
    const { editYaml } = await import("../documents/edit-yaml.ts");
    return mark + keepLineEnds(text, (plain) => editYaml(plain, given, path));
  }
  const { editJson } = await import("../documents/edit-json.ts");
  return mark + keepLineEnds(text, (plain) => editJson(plain, given, path, " ".repeat(indentIn(options))));
}

function indentIn({ indent }: PlainMap): number {
  return typeof indent === "number" ? indent : 2;
}

function write(data: Plain, format: Format, options: PlainMap): string {
  requireExact(data);
  const sort = options.sort_keys !== false;
  const indent = indentIn(options);
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
