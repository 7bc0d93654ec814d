import type { Plain } from "../../../base/msgpack.ts";
import { isMap } from "../../../base/plain-map.ts";
import { type ArgSpec, arg, type ValuesOf } from "../../../host/modules/mod.ts";
import { defineState, type StateFunction } from "../../function/mod.ts";
import { editArgs, planEdit } from "../file/edit.ts";
import { makedirsArg } from "../file/parents.ts";
import { refuseBackup } from "../file/plan-file.ts";
import { continuations, formatOf } from "./ini-format.ts";
import { IniText } from "./ini-text.ts";

const common = {
  separator: arg.string("What stands between an option and its value; = by default."),
  no_spaces: arg.boolean("Writes no white space around the separator; false by default."),
  continuation: arg.string(
    "How a value continues on the next line: indent, by an indentation that is larger than that of its option, as in files of Python; backslash, by a backslash at the end of the line, as in files of git, Samba and systemd, which are recognized by their names. By default indent, but a line that could be an option too is not touched.",
    { values: continuations },
  ),
  encoding: arg.string("Encoding; files are always written in UTF-8.", { values: ["utf-8", "utf8"] }),
  makedirs: makedirsArg,
  ...editArgs,
} as const satisfies Record<string, ArgSpec>;
const strict = arg.boolean("Also removes what is not given; false by default.");

type Common = ValuesOf<typeof common>;
type Values = { [name: string]: Plain };

/** States of files with sections and options. They leave comments and the order of lines alone. */
export const iniStates: readonly StateFunction[] = [
  defineState({
    name: "ini.options_present",
    doc: "Ensures that a file has these options in its sections. The file is created if it does not exist.",
    args: {
      sections: arg.map(
        "A map of options for each section. An option that is not in a map stands before the first section.",
        { required: true },
      ),
      strict,
      ...common,
    },
    refuse: ({ sections, backup }) => refuseOptions(sections) ?? refuseBackup(backup),
    plan: (name, args, context) =>
      planEdit({ name, whenMissing: "create", ...args }, context, (text) => {
        const ini = open(name, text, args);
        for (const [section, options] of sectionsOf(args.sections)) {
          for (const [option, value] of Object.entries(options)) ini.set(section, option, textOf(value));
          if (args.strict === true) ini.keepOptions(section, Object.keys(options));
        }
        return ini.text();
      }),
  }),
  defineState({
    name: "ini.options_absent",
    doc: "Ensures that the sections of a file do not have these options.",
    args: {
      sections: arg.map(
        "A list of options for each section. An option without a list stands before the first section.",
        { required: true },
      ),
      ...common,
    },
    refuse: ({ sections, backup }) => {
      const wrong = Object.entries(sections).find(([, names]) => namesIn(names) === undefined);
      return wrong === undefined ? refuseBackup(backup) : `sections: ${wrong[0]}: expected a list of options`;
    },
    plan: (name, args, context) =>
      planEdit({ name, whenMissing: "ignore", ...args }, context, (text) => {
        const ini = open(name, text, args);
        for (const [section, names] of Object.entries(args.sections)) {
          const options = namesIn(names) ?? [];
          if (names === null) ini.remove("", section);
          for (const option of options) ini.remove(section, option);
        }
        return ini.text();
      }),
  }),
  defineState({
    name: "ini.sections_present",
    doc: "Ensures that a file has these sections. The file is created if it does not exist.",
    args: {
      sections: arg.any("A list of sections, or a map of options for each section.", { required: true }),
      strict,
      ...common,
    },
    refuse: ({ sections, backup }) => refuseSections(sections) ?? refuseBackup(backup),
    plan: (name, args, context) =>
      planEdit({ name, whenMissing: "create", ...args }, context, (text) => {
        const ini = open(name, text, args);
        const sections = wantedSections(args.sections);
        const wanted = Object.keys(sections);
        for (const section of wanted) ini.add(section);
        for (const [section, options] of sectionsOf(sections)) {
          for (const [option, value] of Object.entries(options)) ini.set(section, option, textOf(value));
        }
        if (args.strict === true) ini.keepSections(wanted);
        return ini.text();
      }),
  }),
  defineState({
    name: "ini.sections_absent",
    doc: "Ensures that a file does not have these sections.",
    args: {
      sections: arg.strings("Names of sections.", { required: true }),
      ...common,
    },
    refuse: ({ backup }) => refuseBackup(backup),
    plan: (name, args, context) =>
      planEdit({ name, whenMissing: "ignore", ...args }, context, (text) => {
        const ini = open(name, text, args);
        for (const section of args.sections) ini.removeSection(section);
        return ini.text();
      }),
  }),
];

function open(path: string, text: string, { separator, no_spaces, continuation }: Common): IniText {
  const format = formatOf(path, continuation);
  return new IniText(text, { separator: separator ?? "=", spaced: no_spaces !== true, format });
}

function mapOf(value: Plain | undefined): Values | undefined {
  return isMap(value) ? value : undefined;
}

/** The options of each section; those that are in no map are in the section "". */
function sectionsOf(sections: Values): [section: string, options: Values][] {
  const loose = Object.entries(sections).filter(([, value]) => mapOf(value) === undefined);
  const found = Object.entries(sections).flatMap(([name, value]): [string, Values][] => {
    const options = mapOf(value);
    return options === undefined ? [] : [[name, options]];
  });
  return loose.length === 0 ? found : [["", Object.fromEntries(loose)], ...found];
}

/** Names of sections, each with a map of options. */
function wantedSections(sections: Plain): Values {
  if (Array.isArray(sections)) return Object.fromEntries(sections.map((name) => [String(name), {}]));
  return Object.fromEntries(
    Object.entries(mapOf(sections) ?? {}).map(([name, options]) => [name, options ?? {}]),
  );
}

/** A value as text; `undefined` for null, which is an option without a value. */
function textOf(value: Plain): string | undefined {
  if (value === null) return undefined;
  if (value === true) return "True";
  if (value === false) return "False";
  return String(value).trimEnd();
}

function refuseOptions(sections: Values): string | undefined {
  for (const [section, options] of sectionsOf(sections)) {
    if (/[\]\n\r]/.test(section))
      return `sections: ${JSON.stringify(section)} is not a valid name of a section`;
    for (const [option, value] of Object.entries(options)) {
      if (typeof value === "object" && value !== null)
        return `sections: ${section}: ${option}: expected one value`;
      if (option.trim() === "" || /[\n\r]/.test(option) || /^\s*[#;[]/.test(option)) {
        return `sections: ${JSON.stringify(option)} is not a valid name of an option`;
      }
      if (/\n(?:\s*\n|\s*$)/.test(textOf(value) ?? ""))
        return `sections: ${section}: ${option}: must not contain an empty line`;
    }
  }
  return undefined;
}

function refuseSections(sections: Plain): string | undefined {
  const map = mapOf(sections);
  if (map !== undefined) {
    const wrong = Object.entries(map).find(([, options]) => options !== null && mapOf(options) === undefined);
    return wrong === undefined ? refuseOptions(map) : `sections: ${wrong[0]}: expected a map of options`;
  }
  if (Array.isArray(sections) && sections.every((each) => typeof each === "string" && !/[\]\n\r]/.test(each)))
    return undefined;
  return "sections: expected a list of names, or a map of options for each section";
}

function namesIn(value: Plain): string[] | undefined {
  if (value === null) return [];
  const items = Array.isArray(value) ? value : Object.keys(mapOf(value) ?? { [String(value)]: null });
  return items.every((each) => typeof each === "string" || typeof each === "number")
    ? items.map(String)
    : undefined;
}
