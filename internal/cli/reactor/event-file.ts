import * as v from "valibot";
import { SvcError } from "../../base/errors.ts";
import type { Plain } from "../../base/msgpack.ts";
import { entriesOf, failure, fieldsOf, textOf } from "../../base/read-yaml.ts";
import { parseYaml, plainValue, type YamlNode } from "../../base/yaml.ts";
import { maxTagLength } from "../../fleet/reactor/mod.ts";
import { readConfigFile } from "../../program/config/mod.ts";

const keys = ["tag", "source", "data", "depth", "at"] as const;

/**
 * Reads an event that a person wrote down, as JSON or YAML: `tag`, and if they matter `source`, `data`,
 * `depth` and `at`.
 *
 * @throws SvcError naming the file, and where in it something is wrong
 */
export function readEventFile(path: string): Record<string, Plain> {
  const text = readConfigFile(path);
  if (text === undefined) throw new SvcError("bad_request", `cannot read the event ${path}: no such file`);
  const root = parseYaml(text, path);
  const fields = fieldsOf(root, { file: path, what: "" }, keys);
  const tag = fields.get("tag");
  if (tag === undefined) throw failure({ file: path, what: "" }, root.at, 'tag is missing: tag: "disk/full"');
  textOf(tag.value, { file: path, what: "tag" }, maxTagLength);
  const data = fields.get("data");
  if (data !== undefined) entriesOf(data.value, { file: path, what: "data" });
  const depth = fields.get("depth");
  if (depth !== undefined && !isDepth(depth.value)) {
    throw failure({ file: path, what: "depth" }, depth.value.at, "expected a whole number from 0 on");
  }
  const at = fields.get("at");
  if (at !== undefined && !isInstant(at.value)) {
    throw failure({ file: path, what: "at" }, at.value.at, 'expected a time: "2026-01-31T12:00:00Z"');
  }
  return plainValue(root) as Record<string, Plain>;
}

function isDepth(node: YamlNode): boolean {
  return node.kind === "scalar" && Number.isInteger(node.value) && Number(node.value) >= 0;
}

function isInstant(node: YamlNode): boolean {
  return node.kind === "scalar" && v.is(v.pipe(v.string(), v.isoTimestamp()), node.value);
}
