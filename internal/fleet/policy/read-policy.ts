import * as v from "valibot";
import { defined } from "../../base/defined.ts";
import { parseIpNetwork } from "../../base/ip-network.ts";
import { ruleNameForm } from "../../base/names.ts";
import { atLine } from "../../base/place.ts";
import {
  durationOf,
  entriesOf,
  failure,
  fieldsOf,
  itemsOf,
  type Place,
  textOf,
  within,
} from "../../base/read-yaml.ts";
import { webhookUrlProblem } from "../../base/webhook/url.ts";
import { isNothing, kindOf, parseYaml, type YamlEntry, type YamlNode } from "../../base/yaml.ts";
import { type EvidenceType, evidenceTypes } from "../../identity/evidence/mod.ts";
import { decisions, type Labels, labelsField } from "../enrollment/mod.ts";
import {
  type Decider,
  type Match,
  type Policy,
  type PolicyRule,
  type Program,
  usualWorkers,
  type Webhook,
} from "./policy.ts";

const maxRules = 1_000;
const maxChoices = 256;
const maxGlob = 256;
const maxText = 4_096;
const maxReason = 1_024;
const maxWords = 64;
const maxWorkers = 64;
const usualTimeoutMs = 5_000;
const leastTimeoutMs = 100;
/** A peel waits 15 s for the answer of a master, and a program may need 5 s more to be ended. */
const mostTimeoutMs = 8_000;

type Fields = ReadonlyMap<string, YamlEntry>;
const ruleKeys = ["name", "match", "labels", "decide", "reason", "program", "webhook"] as const;
const deciderKeys = ["decide", "program", "webhook"] as const;

/**
 * Reads the text of a policy file.
 *
 * @param file its path, for messages
 * @throws SvcError `bad_request`: `<file>:<line>:<column>: <what>: <reason>`
 */
export function readPolicy(text: string, file: string): Policy {
  const root = parseYaml(text, file);
  const place = { file, what: "" };
  if (isNothing(root)) return { rules: [], workers: usualWorkers };
  const fields = fieldsOf(root, place, ["rules", "workers"]);
  const list = fields.get("rules")?.value;
  if (list === undefined)
    throw failure(place, root.at, "rules is required: rules: [] for a policy without any");
  const nodes = isNothing(list) ? [] : itemsOf(list, within(place, "rules"), maxRules);
  const byName = new Map<string, PolicyRule>();
  for (const [at, node] of nodes.entries()) {
    const rule = readRule(node, file, at);
    const other = byName.get(rule.name);
    if (other !== undefined) {
      const where = atLine(file, other.at.line);
      throw failure(place, node.at, `the name ${rule.name} is already used by the rule at ${where}`);
    }
    byName.set(rule.name, rule);
  }
  const workers = optional(fields, "workers", place, readWorkers) ?? usualWorkers;
  return { rules: [...byName.values()], workers };
}

function readWorkers(node: YamlNode, place: Place): number {
  const value = node.kind === "scalar" ? node.value : undefined;
  if (typeof value === "number" && Number.isInteger(value) && value >= 1 && value <= maxWorkers) return value;
  throw failure(place, node.at, `expected a number from 1 to ${maxWorkers}, found ${kindOf(node)}`);
}

function readRule(node: YamlNode, file: string, at: number): PolicyRule {
  const unnamed = { file, what: `rule ${at + 1}` };
  const fields = fieldsOf(node, unnamed, ruleKeys);
  const name = optional(fields, "name", unnamed, readName) ?? `rule-${at + 1}`;
  const place = { file, what: `rule ${name}` };
  return {
    name,
    match: optional(fields, "match", place, readMatch) ?? {},
    labels: optional(fields, "labels", place, readLabels) ?? {},
    decider: readDecider(fields, node, place),
    at: node.at,
  };
}

function readName(node: YamlNode, place: Place): string {
  const name = textOf(node, place, 64);
  if (ruleNameForm.test(name)) return name;
  throw failure(place, node.at, "expected letters, digits, -, _ and dots, with a letter or digit first");
}

function readMatch(node: YamlNode, place: Place): Match {
  const fields = fieldsOf(node, place, ["peel", "address", "trust", "evidence"]);
  return defined({
    peel: optional(fields, "peel", place, (value, inside) => textsOf(value, inside, maxGlob)),
    address: optional(fields, "address", place, readNetworks),
    trust: optional(fields, "trust", place, readTrust),
    evidence: optional(fields, "evidence", place, readEvidence),
  });
}

function readNetworks(node: YamlNode, place: Place): NonNullable<Match["address"]> {
  return choicesOf(node, place).map((one) => {
    const text = textOf(one, place, 64);
    const network = parseIpNetwork(text);
    if (network !== undefined) return { text, network };
    throw failure(
      place,
      one.at,
      "expected an address or a range such as 10.20.0.0/16, where bits beyond the length are zero",
    );
  });
}

function readTrust(node: YamlNode, place: Place): NonNullable<Match["trust"]> {
  const text = textOf(node, place, 20);
  if (text === "ok" || text === "unknown") return text;
  throw failure(
    place,
    node.at,
    "expected ok, or unknown for a host that did not say; no rule is asked about a trust mismatch",
  );
}

function readEvidence(node: YamlNode, place: Place): NonNullable<Match["evidence"]> {
  if (node.kind !== "map") return { types: readTypes(node, place), fields: {} };
  const fields = fieldsOf(node, place, ["type", "fields"]);
  const type = fields.get("type")?.value;
  if (type === undefined)
    throw failure(place, node.at, `type is required: one of ${evidenceTypes.join(", ")}`);
  const globs = optional(fields, "fields", place, (value, inside) =>
    entriesOf(value, inside).map(({ key, value: glob }) => [key, textOf(glob, within(inside, key), maxGlob)]),
  );
  return { types: readTypes(type, within(place, "type")), fields: Object.fromEntries(globs ?? []) };
}

function readTypes(node: YamlNode, place: Place): EvidenceType[] {
  return choicesOf(node, place).map((one) => {
    const text = textOf(one, place, 20);
    const found = evidenceTypes.find((type) => type === text);
    if (found !== undefined) return found;
    throw failure(place, one.at, `expected one of ${evidenceTypes.join(", ")}`);
  });
}

/** @throws SvcError for labels that no record may have */
function readLabels(node: YamlNode, place: Place): Labels {
  const labels = entriesOf(node, place).map(
    ({ key, value }) => [key, labelText(value, within(place, key.slice(0, 63)))] as const,
  );
  const read = v.safeParse(labelsField, Object.fromEntries(labels));
  if (read.success) return read.output;
  throw failure(place, node.at, read.issues[0].message);
}

/** A value may be empty, and a number counts as it is written. */
function labelText(node: YamlNode, place: Place): string {
  const value = node.kind === "scalar" ? node.value : undefined;
  if (typeof value === "string") return value;
  if (typeof value === "number" && node.kind === "scalar") return node.digits ?? String(value);
  throw failure(place, node.at, `expected a string, found ${kindOf(node)}`);
}

function readDecider(fields: Fields, node: YamlNode, place: Place): Decider {
  const found = deciderKeys.filter((key) => fields.has(key));
  const [key] = found;
  if (key === undefined) throw failure(place, node.at, `one of ${deciderKeys.join(", ")} is required`);
  if (found.length > 1) throw failure(place, node.at, `${found.join(" and ")} exclude each other`);
  const reason = optional(fields, "reason", place, (value, inside) => textOf(value, inside, maxReason));
  if (key === "decide") {
    const decide = need(fields, "decide", place, readDecide);
    return { decide, ...defined({ reason }) };
  }
  if (reason !== undefined) throw failure(place, node.at, "reason is for decide: the answer has its own");
  return key === "program"
    ? { program: need(fields, key, place, readProgram) }
    : { webhook: need(fields, key, place, readWebhook) };
}

function readDecide(node: YamlNode, place: Place) {
  const text = textOf(node, place, 20);
  const found = decisions.find((one) => one === text);
  if (found !== undefined) return found;
  throw failure(place, node.at, "expected approve, reject or hold");
}

function readProgram(node: YamlNode, place: Place): Program {
  const fields = fieldsOf(node, place, ["argv", "timeout"]);
  const argv = need(fields, "argv", place, (value, inside) => {
    const [program, ...words] = itemsOf(value, inside, maxWords).map((one) => textOf(one, inside, maxText));
    if (program?.startsWith("/") === true) return [program, ...words] as const;
    throw failure(inside, value.at, "expected a list that begins with the absolute path of a program");
  });
  return { argv: [...argv], timeoutMs: readTimeout(fields, place) };
}

function readWebhook(node: YamlNode, place: Place): Webhook {
  const fields = fieldsOf(node, place, ["url", "secret_file", "ca_file", "timeout"]);
  const url = need(fields, "url", place, (value, inside) => {
    const text = textOf(value, inside, maxText);
    const problem = webhookUrlProblem(text, { secretOption: "secret_file", isPlainAllowed: false });
    if (problem === undefined) return text;
    throw failure(inside, value.at, problem);
  });
  return {
    url,
    secretFile: need(fields, "secret_file", place, readPath),
    ...defined({ caFile: optional(fields, "ca_file", place, readPath) }),
    timeoutMs: readTimeout(fields, place),
  };
}

function readPath(node: YamlNode, place: Place): string {
  const path = textOf(node, place, maxText);
  if (/^\/[^\r\n\0]*$/.test(path)) return path;
  throw failure(place, node.at, "expected the absolute path of a file, not its content");
}

function readTimeout(fields: Fields, place: Place): number {
  const read = (node: YamlNode, inside: Place) => durationOf(node, inside, leastTimeoutMs, mostTimeoutMs);
  return optional(fields, "timeout", place, read) ?? usualTimeoutMs;
}

/** One text, or a list of at least one. */
function textsOf(node: YamlNode, place: Place, most: number): string[] {
  return choicesOf(node, place).map((one) => textOf(one, place, most));
}

function choicesOf(node: YamlNode, place: Place): readonly YamlNode[] {
  if (node.kind !== "list") return [node];
  const items = itemsOf(node, place, maxChoices);
  if (items.length > 0) return items;
  throw failure(place, node.at, "an empty list matches nothing");
}

function optional<T>(
  fields: Fields,
  key: string,
  place: Place,
  read: (node: YamlNode, inside: Place) => T,
): T | undefined {
  const node = fields.get(key)?.value;
  return node === undefined ? undefined : read(node, within(place, key));
}

function need<T>(fields: Fields, key: string, place: Place, read: (node: YamlNode, inside: Place) => T): T {
  const entry = fields.get(key);
  if (entry !== undefined) return read(entry.value, within(place, key));
  const [first] = fields.values();
  throw failure(place, first?.keyAt ?? { line: 1, column: 1 }, `${key} is required`);
}
