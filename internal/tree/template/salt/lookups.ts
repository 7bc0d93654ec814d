import { beginningOf } from "../../../base/cut.ts";
import { textOf } from "../../jinja/mod.ts";
import { compare, copyOf, equals, Fault, truthy, type Value, ValueMap } from "../../jinja/values/mod.ts";
import { looseFunction, type SaltFunction, type SaltTools, saltFunction } from "./function.ts";
import { mergeValues, updateMap } from "./merge.ts";
import { valueAt } from "./traverse.ts";

type Source = (tools: SaltTools) => ValueMap;
const facts: Source = (tools) => tools.facts();
const settings: Source = (tools) => tools.settings();

/** `get(path, default)`: without a default the result is an empty text, as in Salt. */
const getFrom = (module: string, what: string, source: Source): SaltFunction =>
  saltFunction(
    `${module}.get`,
    ["key", "default?", "delimiter?", "ordered?"],
    `Returns ${what}; colons in the key lead into maps and lists.`,
    ([key, fallback = "", delimiter = ":"], tools) =>
      or(valueAt(source(tools), key as Value, textOf(delimiter)), fallback),
  );

const getSetting = (module: string): SaltFunction =>
  saltFunction(
    `${module}.get`,
    ["key", "default?", "merge?", "merge_nested_lists?", "delimiter?", "pillarenv?", "saltenv?"],
    "Returns a setting; colons in the key lead into maps and lists. With merge, it is merged over the default.",
    ([key, fallback = "", merge = false, mergeLists = false, delimiter = ":"], tools) => {
      const found = valueAt(tools.settings(), key as Value, textOf(delimiter));
      if (!truthy(merge)) return or(found, fallback);
      const { budget } = tools;
      if (fallback instanceof ValueMap) {
        const options = { mergeLists: truthy(mergeLists ?? false), budget };
        return updateMap(
          copyOf(fallback, budget),
          found instanceof ValueMap ? found : new ValueMap(),
          options,
        );
      }
      if (Array.isArray(fallback)) {
        const items = Array.isArray(found) ? found : [];
        budget.make(fallback.length + items.length);
        return [...fallback, ...items.filter((item) => !fallback.some((each) => equals(each, item)))];
      }
      return or(found, fallback);
    },
  );

const listNames = (name: string, what: string, source: Source): SaltFunction =>
  saltFunction(name, ["sanitize?"], `Returns ${what}.`, (_, tools) => {
    tools.budget.make(source(tools).size);
    return [...source(tools).keys()].sort((one, other) => compare(one, other));
  });

const items = (name: string, what: string, source: Source): SaltFunction =>
  saltFunction(name, ["sanitize?"], `Returns ${what}.`, (_, tools) => source(tools));

const hasValue = (name: string, what: string, source: Source): SaltFunction =>
  saltFunction(name, ["key"], `Returns whether ${what} exists and is not empty.`, ([key], tools) => {
    const found = valueAt(source(tools), key as Value);
    return found !== undefined && truthy(found);
  });

const or = (value: Value | undefined, other: Value): Value => (value === undefined ? other : value);

/** Functions that look something up in facts, settings and options. */
export const lookupFunctions: readonly SaltFunction[] = [
  getFrom("facts", "a fact", facts),
  getFrom("grains", "a fact", facts),
  getSetting("settings"),
  getSetting("pillar"),
  ...[items("facts.items", "all facts", facts), items("grains.items", "all facts", facts)],
  ...[
    listNames("facts.ls", "the names of all facts", facts),
    listNames("grains.ls", "the names of all facts", facts),
  ],
  ...[hasValue("facts.has_value", "a fact", facts), hasValue("grains.has_value", "a fact", facts)],
  ...["facts.item", "grains.item"].map((name) =>
    looseFunction(
      name,
      ["keys…"],
      "Returns the named facts, by name.",
      ({ positional }, tools) =>
        new ValueMap(
          positional.flatMap((key): [Value, Value][] => {
            const found = valueAt(tools.facts(), key);
            return found === undefined ? [] : [[key, found]];
          }),
        ),
    ),
  ),
  saltFunction(
    "grains.equals",
    ["key", "value"],
    "Returns whether a fact has this value.",
    ([key, value], tools) => {
      const found = valueAt(tools.facts(), key as Value);
      return found !== undefined && textOf(found) === textOf(value as Value);
    },
  ),
  items("settings.items", "all settings", settings),
  items("pillar.items", "all settings", settings),
  items("pillar.raw", "all settings", settings),
  saltFunction(
    "pillar.keys",
    ["key", "delimiter?"],
    "Returns the keys of a map in the settings.",
    ([key, delimiter = ":"], tools) => {
      const found = valueAt(tools.settings(), key as Value, textOf(delimiter));
      if (!(found instanceof ValueMap))
        throw new Fault(`pillar.keys: ${beginningOf(textOf(key as Value), 60)} is not a map`);
      return found.keys();
    },
  ),
  saltFunction(
    "config.get",
    ["key", "default?", "delimiter?", "merge?", "omit_opts?", "omit_pillar?", "omit_master?", "omit_grains?"],
    "Looks in opts, in facts, and in settings. With merge (recurse or overwrite), all that are found are merged.",
    ([key, fallback = "", delimiter = ":", merge = null, ...omit], tools) =>
      configured(key as Value, fallback, {
        ...{ delimiter: textOf(delimiter), merge, tools },
        omit: { opts: isSet(omit[0]), pillar: isSet(omit[1]), grains: isSet(omit[3]) },
      }),
  ),
  saltFunction(
    "config.option",
    ["value", "default?", "omit_opts?", "omit_grains?", "omit_pillar?", "omit_master?"],
    "Looks in opts, in facts, and in settings.",
    ([key, fallback = "", opts, grains, pillar], tools) =>
      configured(key as Value, fallback, {
        ...{ delimiter: ":", merge: null, tools },
        omit: { opts: isSet(opts), pillar: isSet(pillar), grains: isSet(grains) },
      }),
  ),
];

/** Facts that Salt does not have: formulas have settings of these names, which would be hidden behind them. */
const ownFacts: ReadonlySet<string> = new Set([
  ...["apparmor", "boot_id", "bus_ca_file", "cloud", "disk_sizes", "mounts", "pkg_manager"],
  ...["refused_statements", "svc_version", "svc_watchdog", "timezone", "trust_roots"],
]);

const isSet = (value: Value | undefined): boolean => value !== undefined && truthy(value);

function configured(
  key: Value,
  fallback: Value,
  {
    delimiter,
    merge,
    omit,
    tools,
  }: {
    delimiter: string;
    merge: Value;
    omit: { opts: boolean; pillar: boolean; grains: boolean };
    tools: SaltTools;
  },
): Value {
  const facts = omit.grains ? [] : [tools.facts];
  const isOwn = ownFacts.has(textOf(key).split(delimiter)[0] ?? "");
  const sources = [
    ...(omit.opts ? [] : [tools.opts]),
    ...(isOwn ? [] : facts),
    ...(omit.pillar ? [] : [tools.settings]),
    ...(isOwn ? facts : []),
  ];
  const found = sources.flatMap((source) => {
    const value = valueAt(source(), key, delimiter);
    return value === undefined ? [] : [value];
  });
  const [first] = found;
  if (first === undefined) return fallback;
  if (merge === null || !found.every((each) => each instanceof ValueMap)) return first;
  // The first source wins, so it is merged last.
  const options = { strategy: textOf(merge), budget: tools.budget };
  const [last = first, ...above] = found.reverse();
  return above.reduce<Value>((all, each) => mergeValues(all, each, options), last);
}
