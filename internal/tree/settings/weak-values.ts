import { SvcError } from "../../base/errors.ts";
import { isSecretName } from "../../base/names/secret-name.ts";
import { minSecretLength } from "../../base/names/secret-text.ts";
import { atLine } from "../../base/place.ts";
import { parseYaml, type YamlNode } from "../../base/yaml/yaml.ts";
import { isSecretPath } from "./layers.ts";
import { templatesOf } from "./render.ts";
import { topFile } from "./top.ts";
import type { SettingsTree } from "./tree.ts";

/** One line `file:line: …` for each secret that is too short to be masked inside of other texts; templates are left out. */
export function weakValuesIn(tree: SettingsTree): string[] {
  const templates = templatesOf(tree);
  return [...tree.files].flatMap(([path, { text = "" }]) => {
    if (path === topFile || !path.endsWith(".sls") || templates.has(path)) return [];
    try {
      return weakIn(parseYaml(text, path), [], isSecretPath(path)).map(
        ({ line, name }) =>
          `${atLine(path, line)}: the value of ${name} is too weak to be masked where it is a part of a text: use at least ${minSecretLength} characters`,
      );
    } catch (thrown) {
      // What is not YAML is a problem of its own.
      if (thrown instanceof SvcError) return [];
      throw thrown;
    }
  });
}

function weakIn(
  node: YamlNode,
  path: readonly string[],
  isSecret: boolean,
): { line: number; name: string }[] {
  if (node.kind === "list") {
    return node.items.flatMap((item, at) => weakIn(item, [...path, String(at)], isSecret));
  }
  if (node.kind === "map") {
    return node.entries.flatMap(({ key, value }) =>
      path.length === 0 && key === "include"
        ? []
        : weakIn(value, [...path, key], isSecret || isSecretName(key)),
    );
  }
  const { value } = node;
  if (!isSecret || (typeof value !== "string" && typeof value !== "number")) return [];
  const isWeak = value !== "" && String(value).length < minSecretLength;
  return isWeak ? [{ line: node.at.line, name: path.join(":") }] : [];
}
