import { SvcError } from "../../base/errors.ts";
import { kindOf, type YamlNode } from "../../base/yaml/yaml.ts";
import { parseTarget } from "../../tree/targets/mod.ts";
import { type MasterConfig, textsOf } from "./master-config.ts";
import type { Items } from "./report.ts";

const words = new Set(["and", "or", "not", "(", ")"]);

/** Reads `nodegroups`, and keeps the groups whose targets exist here. @returns group names and targets */
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
  const groups: Record<string, string> = {};
  for (const group of entry.value.entries) {
    const target = targetOf(group.value);
    try {
      parseTarget(target, group.key);
      groups[group.key] = target;
    } catch (thrown) {
      if (!(thrown instanceof SvcError)) throw thrown;
      items.add(
        "groups",
        config.placeOf(group),
        `not copied: ${thrown.message}`,
        "Write the group in nodegroups.yaml with the matchers of docs/targeting.md",
      );
    }
  }
  return groups;
}

/** A list without matchers and operators names minions. */
function targetOf(node: YamlNode): string {
  const parts = textsOf(node);
  if (node.kind !== "list") return parts[0] ?? "";
  const isExpression = parts.some((part) => words.has(part) || /^[A-Z][^@]?@/.test(part) || /\s/.test(part));
  return isExpression ? parts.join(" ") : `L@${parts.join(",")}`;
}
