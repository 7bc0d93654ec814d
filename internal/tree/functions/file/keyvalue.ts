import type { Plain } from "../../../base/msgpack.ts";
import { type ArgSpec, arg } from "../../../host/modules/mod.ts";
import { defineState, StateFailure } from "../../function/mod.ts";
import { editArgs, linesOf, planEdit, textOfLines } from "./edit.ts";
import { makedirsArg } from "./parents.ts";
import { refuseBackup } from "./plan-file.ts";

const args = {
  key: arg.string("The key; give either key and value, or key_values."),
  value: arg.any("The value of key: text, a number, or true or false."),
  key_values: arg.map("Values by key."),
  separator: arg.string(
    "What stands between key and value; = by default. White space around it in the file is kept.",
  ),
  append_if_not_found: arg.boolean(
    "Appends a line for each key that is missing, in front of the first Match of a configuration of SSH; false by default.",
  ),
  prepend_if_not_found: arg.boolean("Inserts these lines before the first line instead."),
  search_only: arg.boolean("Changes nothing, and fails if a value differs."),
  ignore_if_missing: arg.boolean("Succeeds if the file does not exist."),
  create_if_missing: arg.boolean(
    "Creates the file if it does not exist; needs append_if_not_found or prepend_if_not_found.",
  ),
  count: arg.integer("Maximum number of lines to change for each key; 1 by default, 0 for all.", { min: 0 }),
  uncomment: arg.string(
    "Characters of a comment mark: a line behind them counts as a line with the key, unless there is one without them.",
  ),
  key_ignore_case: arg.boolean("Ignores upper and lower case of keys."),
  value_ignore_case: arg.boolean("Ignores upper and lower case of values."),
  makedirs: makedirsArg,
  ...editArgs,
} as const satisfies Record<string, ArgSpec>;

export const fileKeyvalue = defineState({
  name: "file.keyvalue",
  doc: "Ensures that a file of keys and values has these values, such as PermitRootLogin no in sshd_config.",
  args,
  refuse(args) {
    const { key, value, key_values: many, separator = "=" } = args;
    if ((key === undefined) === (many === undefined)) return "give either key and value, or key_values";
    if (key !== undefined && value === undefined) return "value: missing; required with key";
    if (separator === "") return "separator: must not be empty";
    const odd = Object.entries(many ?? { [key ?? ""]: value ?? null }).find(
      ([name, each]) =>
        name.trim() === "" || textOf(each) === undefined || /[\n\r]/.test(`${name}${textOf(each)}`),
    );
    if (odd !== undefined) return `${odd[0]}: expected a value of one line: text, a number, or true or false`;
    if (args.append_if_not_found && args.prepend_if_not_found) {
      return "give only one of append_if_not_found, prepend_if_not_found";
    }
    return refuseBackup(args.backup);
  },
  plan(name, args, context) {
    const { key, value = null, key_values: many } = args;
    const wanted = new Map(
      Object.entries(many ?? { [key ?? ""]: value }).map(([each, text]) => [each, textOf(text) ?? ""]),
    );
    const whenMissing =
      args.create_if_missing === true ? "create" : args.ignore_if_missing === true ? "ignore" : undefined;
    return planEdit({ name, whenMissing, ...args }, context, (text) => {
      const edited = withValues(text, wanted, args);
      if (args.search_only !== true || edited === text) return edited;
      throw new StateFailure(`${name} does not have these values, and search_only keeps it as it is`);
    });
  },
});

interface Options {
  separator: string | undefined;
  append_if_not_found: boolean | undefined;
  prepend_if_not_found: boolean | undefined;
  count: number | undefined;
  uncomment: string | undefined;
  key_ignore_case: boolean | undefined;
  value_ignore_case: boolean | undefined;
}

/** A line that sets a key. */
interface Found {
  at: number;
  indent: string;
  key: string;
  between: string;
  value: string;
  commented: boolean;
}

/** The text with these values by key. Other lines stay as they are. */
function withValues(text: string, wanted: ReadonlyMap<string, string>, options: Options): string {
  const {
    separator = "=",
    count = 1,
    uncomment,
    key_ignore_case = false,
    value_ignore_case = false,
  } = options;
  const fold = (each: string, ignore: boolean) => (ignore ? each.toLowerCase() : each);
  const lines = linesOf(text);
  const found = lines.flatMap((line, at) => readLine(line, at, separator, uncomment) ?? []);
  const missing: string[] = [];
  for (const [key, value] of wanted) {
    const all = found.filter((each) => fold(each.key, key_ignore_case) === fold(key, key_ignore_case));
    const active = all.filter(({ commented }) => !commented);
    const due = active.length > 0 ? active : all;
    if (due.length === 0) missing.push(`${key}${separator}${value}`);
    for (const each of count === 0 ? due : due.slice(0, count)) {
      const same = fold(each.value, value_ignore_case) === fold(value, value_ignore_case);
      if (each.commented || !same) lines[each.at] = `${each.indent}${each.key}${each.between}${value}`;
    }
  }
  const isSame = missing.length === 0 || !(options.append_if_not_found || options.prepend_if_not_found);
  const end = options.prepend_if_not_found ? 0 : endOf(lines, separator);
  const all = isSame ? lines : [...lines.slice(0, end), ...missing, ...lines.slice(end)];
  const edited = textOfLines(all);
  // A last line without a line break keeps that, unless a line follows it.
  return isSame && !text.endsWith("\n") ? edited.slice(0, -1) : edited;
}

/** Where lines are appended: in a configuration of SSH, what stands below Match is for some connections only. */
function endOf(lines: readonly string[], separator: string): number {
  const match = separator.trim() === "" ? lines.findIndex((line) => /^\s*match\s/i.test(line)) : -1;
  return match === -1 ? lines.length : match;
}

function readLine(
  line: string,
  at: number,
  separator: string,
  uncomment: string | undefined,
): Found | undefined {
  const [, white = "", rest = ""] = /^(\s*)([\s\S]*)$/.exec(line) ?? [];
  let body = rest;
  if (uncomment !== undefined) {
    while (body !== "" && (uncomment.includes(body[0] ?? "") || (body !== rest && /^\s/.test(body))))
      body = body.slice(1);
  }
  const apart = body.indexOf(separator);
  if (apart <= 0) return undefined;
  const key = body.slice(0, apart).trimEnd();
  const after = body.slice(apart + separator.length);
  const value = after.trim();
  const start = after.length - after.trimStart().length;
  const between = body.slice(key.length, apart + separator.length + (value === "" ? 0 : start));
  return { at, indent: white, key, between, value, commented: body !== rest };
}

function textOf(value: Plain): string | undefined {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean"
    ? String(value)
    : undefined;
}
