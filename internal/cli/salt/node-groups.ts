import { quote } from "../../base/cut.ts";
import { SvcError } from "../../base/errors.ts";
import { kindOf, type YamlEntry } from "../../base/yaml/yaml.ts";
import { isGroupName, matchersOf, parseTarget } from "../../tree/targets/mod.ts";
import { groupTarget } from "./group-target.ts";
import { type MasterConfig, textsOf } from "./master-config.ts";
import type { Items } from "./report.ts";

/** A group that could be read by itself, with the groups that it names. */
interface ReadGroup {
  entry: YamlEntry;
  target: string;
  names: readonly string[];
}

/** Reads `nodegroups`, and keeps the groups that masters read. @returns group names and targets */
export function readNodeGroups(config: MasterConfig, items: Items): Record<string, string> {
  const entry = config.keys.get("nodegroups");
  if (entry === undefined) return {};
  if (entry.value.kind !== "map") {
    items.add(
      "groups",
      config.placeOf(entry),
      `expected a map, found ${kindOf(entry.value)}`,
      "Write nodegroups.yaml",
    );
    return {};
  }
  const leaveOut = (group: YamlEntry, problem: string, next: string) =>
    items.add("groups", config.placeOf(group), `not copied: ${problem}`, next);
  const read = new Map<string, ReadGroup>();
  for (const group of entry.value.entries) {
    const found = readGroup(group);
    if ("problem" in found) leaveOut(group, found.problem, found.next);
    else read.set(group.key, found);
  }
  const whole = wholeOf(read);
  for (const [name, { entry: group, names }] of read) {
    const missing = names.find((each) => !whole.has(each));
    if (!whole.has(name) && missing !== undefined) {
      const why = read.has(missing) ? "which is not copied, or refers back to it" : "which is not copied";
      const next = "Write the group in nodegroups.yaml without it";
      leaveOut(group, `it refers to the group ${quote(missing)}, ${why}`, next);
    }
  }
  return Object.fromEntries(
    [...read].flatMap(([name, { target }]) => (whole.has(name) ? [[name, target]] : [])),
  );
}

function readGroup(entry: YamlEntry): ReadGroup | { problem: string; next: string } {
  const { key, value } = entry;
  if (!isGroupName(key)) {
    const name = key.replace(/[^A-Za-z0-9._-]+/g, "-").replace(/^[^A-Za-z0-9]+/, "");
    return {
      problem: `${quote(key, 60)} is not a name of a group: it may have letters, digits, dots, hyphens and underscores`,
      next: `Write the group in nodegroups.yaml with another name${isGroupName(name) ? `, such as ${name}` : ""}`,
    };
  }
  const next = "Write the group in nodegroups.yaml with the matchers of docs/targeting.md";
  const isList = value.kind === "list";
  if (value.kind === "map" || (isList && value.items.some(({ kind }) => kind !== "scalar"))) {
    return { problem: "expected a text, or a list of texts", next };
  }
  const texts = textsOf(value);
  const found = groupTarget(
    isList ? texts : texts.flatMap((text) => text.split(/\s+/).filter((word) => word !== "")),
  );
  if ("problem" in found) return { ...found, next };
  try {
    const { target } = found;
    const names = [...matchersOf(parseTarget(target, key))].flatMap((each) =>
      each.kind === "group" ? [each.name] : [],
    );
    return { entry, target, names };
  } catch (thrown) {
    if (!(thrown instanceof SvcError)) throw thrown;
    return { problem: thrown.message, next };
  }
}

/** The groups that name only groups which are copied as well, and not themselves. */
function wholeOf(read: ReadonlyMap<string, ReadGroup>): ReadonlySet<string> {
  const whole = new Set<string>();
  for (let before = -1; before < whole.size; ) {
    before = whole.size;
    for (const [name, { names }] of read) if (names.every((each) => whole.has(each))) whole.add(name);
  }
  return whole;
}
