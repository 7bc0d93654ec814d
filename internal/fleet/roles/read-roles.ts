import { basename } from "node:path";
import { roleNameForm } from "../../base/names.ts";
import { suggestion } from "../../base/nearest.ts";
import {
  entriesOf,
  failure,
  fieldsOf,
  itemsOf,
  type Place,
  placed,
  textOf,
  within,
} from "../../base/read-yaml.ts";
import { isNothing, kindOf, parseYaml, type YamlNode } from "../../base/yaml.ts";
import { parseTarget } from "../../tree/targets/mod.ts";
import { type ScopeKind, scopes } from "../operation/mod.ts";
import { builtIn } from "./built-in.ts";
import { type DeclaredJobRule, type DeclaredWord, roleOf } from "./declared.ts";
import { functionsOf } from "./function-pattern.ts";
import type { Role, RoleBook } from "./role.ts";

const maxRoles = 1_000;
const maxItems = 256;
const maxApprovals = 16;
const maxTargetLength = 4_096;
const maxPatternLength = 128;
const kinds = Object.keys(scopes) as ScopeKind[];
/** Of these kinds nothing is ever parked until others agree: agreeing itself, and what nobody asks masters for. */
const neverParked: readonly ScopeKind[] = [
  ...(["approvals", "audit", "console", "events", "facts", "settings", "states"] as const),
];
/** What only reads is not parked either. */
const reading = ["list", "show", "read", "status", "rules", "test"];

/**
 * Reads the text of a roles file.
 *
 * @param file its path, for messages
 * @returns the roles of the file, and those that are built in
 * @throws SvcError `bad_request`: `<file>:<line>:<column>: <what>: <reason>`
 */
export function readRoles(text: string, file: string): RoleBook {
  const place = { file, what: "" };
  const root = parseYaml(text, file);
  if (isNothing(root)) return builtIn;
  const roles = fieldsOf(root, place, ["roles"]).get("roles")?.value;
  if (roles === undefined) throw failure(place, root.at, "roles is required");
  if (isNothing(roles)) return builtIn;
  const book = new Map<string, Role>(builtIn);
  for (const { key, keyAt, value } of entriesOf(roles, within(place, "roles"))) {
    if (!roleNameForm.test(key)) {
      throw failure(
        within(place, "roles"),
        keyAt,
        "a role has a name of 1 to 63 small letters, digits, hyphens and underscores, and begins with a letter",
      );
    }
    const here = within(place, `role ${key}`);
    if (builtIn.has(key)) throw failure(here, keyAt, "is built in and cannot be changed: use another name");
    if (book.size - builtIn.size >= maxRoles) throw failure(here, keyAt, `more than ${maxRoles} roles`);
    book.set(key, readRole(key, keyAt.line, value, here));
  }
  return book;
}

function readRole(name: string, line: number, node: YamlNode, place: Place): Role {
  const declared: Partial<Record<ScopeKind, (DeclaredJobRule | DeclaredWord)[]>> = {};
  for (const { key, keyAt, value } of entriesOf(node, place)) {
    const kind = kinds.find((one) => one === key);
    if (kind === undefined) {
      const shown = JSON.stringify(key.slice(0, 60));
      throw failure(
        place,
        keyAt,
        `unknown kind ${shown}${suggestion(key, kinds)}; known are ${kinds.join(", ")}`,
      );
    }
    const here = within(place, kind);
    const seen = new Set<string>();
    declared[kind] = itemsOf(value, here, maxItems).map((item) => {
      const read = kind === "jobs" && isRule(item) ? readJobRule(item, here) : readWord(kind, item, here);
      if (!("do" in read)) return read;
      if (seen.has(read.do)) throw failure(here, item.at, `${read.do} appears twice`);
      seen.add(read.do);
      return read;
    });
  }
  return roleOf(name, declared, { name: basename(place.file), line });
}

const isRule = (node: YamlNode) => node.kind === "map" && !node.entries.some(({ key }) => key === "do");

function readJobRule(node: YamlNode, place: Place): DeclaredJobRule {
  const fields = fieldsOf(node, place, ["functions", "targets", "approvals"]);
  const functions = fields.get("functions")?.value;
  const targets = fields.get("targets")?.value;
  const approvals = fields.get("approvals")?.value;
  if (functions === undefined)
    throw failure(place, node.at, "functions is required: [test.*], or ['*'] for all");
  if (targets === undefined)
    throw failure(place, node.at, "targets is required: an expression, or '*' for all");
  const list = within(place, "functions");
  const patterns = itemsOf(functions, list, maxItems).map((one) => {
    const pattern = textOf(one, list, maxPatternLength);
    placed(list, one.at, () => functionsOf(pattern));
    return pattern;
  });
  if (patterns.length === 0) throw failure(list, functions.at, "names no function");
  const chosen = within(place, "targets");
  const expression = textOf(targets, chosen, maxTargetLength);
  placed(chosen, targets.at, () => parseTarget(expression, "target"));
  return {
    functions: patterns,
    targets: expression,
    approvals: approvals === undefined ? 0 : readApprovals(approvals, within(place, "approvals")),
    line: node.at.line,
  };
}

function readWord(kind: ScopeKind, node: YamlNode, place: Place): Exclude<DeclaredWord, string> {
  if (node.kind !== "map") return { do: readAction(kind, node, place), approvals: 0, line: node.at.line };
  const fields = fieldsOf(node, place, ["do", "approvals"]);
  const asked = fields.get("do")?.value;
  if (asked === undefined) throw failure(place, node.at, "do is required");
  const action = readAction(kind, asked, within(place, "do"));
  const wanted = fields.get("approvals")?.value;
  const approvals = wanted === undefined ? 0 : readApprovals(wanted, within(place, "approvals"));
  if (approvals > 0 && wanted !== undefined && !mayWait(kind, action)) {
    throw failure(place, wanted.at, `${kind} ${action} cannot wait for approvals: write only ${action}`);
  }
  return { do: action, approvals, line: node.at.line };
}

function mayWait(kind: ScopeKind, action: string): boolean {
  return kind !== "jobs" && !neverParked.includes(kind) && !reading.includes(action);
}

/** A job is run by a rule that names functions and targets, and not by a word. */
function readAction(kind: ScopeKind, node: YamlNode, place: Place): string {
  const text = textOf(node, place, 60);
  const known = (scopes[kind] as readonly string[]).filter((one) => kind !== "jobs" || one !== "run");
  if (known.includes(text)) return text;
  if (kind === "jobs" && text === "run") {
    throw failure(place, node.at, "run needs functions and targets: {functions: [test.*], targets: '*'}");
  }
  throw failure(
    place,
    node.at,
    `unknown action ${JSON.stringify(text)}${suggestion(text, known)}; known are ${known.join(", ")}`,
  );
}

function readApprovals(node: YamlNode, place: Place): number {
  const value = node.kind === "scalar" ? node.value : undefined;
  if (typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= maxApprovals)
    return value;
  throw failure(place, node.at, `expected a number from 0 to ${maxApprovals}, found ${kindOf(node)}`);
}
