import type { Plain } from "../../base/msgpack.ts";
import type { TextPosition } from "../../base/place.ts";
import {
  booleanOf,
  durationOf,
  entriesOf,
  failure,
  fieldsOf,
  itemsOf,
  type Place,
  placed,
  textOf,
  within,
} from "../../base/read-yaml.ts";
import { webhookUrlProblem } from "../../base/webhook/url.ts";
import type { YamlEntry, YamlNode } from "../../base/yaml.ts";
import {
  argumentProblem,
  checkArguments,
  checkCall,
  functionNamed,
  type ModuleFunction,
} from "../../host/modules/mod.ts";
import { parseTarget } from "../../tree/targets/mod.ts";
import { allPlaceholders, placeholderRefusals, type Refusal } from "./argument-policy.ts";
import { isServiceTag, maxTagLength, maxTagSegments } from "./event.ts";
import { opening } from "./placeholder.ts";
import { literalOf, templateMapOf, templateOf } from "./read-node.ts";
import type { Action, RuleTarget } from "./rule.ts";

const maxText = 4_096;
const maxStates = 64;
/** Same limit as for jobs of operators. */
const maxTimeoutMs = 24 * 60 * 60 * 1000;
const tagSegment = /^[A-Za-z0-9_-]+$/;

type Fields = ReadonlyMap<string, YamlEntry>;
interface Kind {
  readonly keys: readonly string[];
  readonly required: readonly string[];
  read(fields: Fields, place: Place, trust: EventTrust): Action;
}

/** What a rule says about its events. */
export interface EventTrust {
  /** The rule has `unsafe: true`. */
  readonly unsafe: boolean;
  /** Called for each place where event data is not allowed without that. */
  onRefusal(place: Place, at: TextPosition, reason: string): void;
}

const kinds: Readonly<Record<Action["kind"], Kind>> = {
  job: { keys: ["target", "function", "args", "timeout"], required: ["target", "function"], read: readJob },
  states: { keys: ["target", "sls", "test", "timeout"], required: ["target"], read: readStates },
  approve: { keys: [], required: [], read: () => ({ kind: "approve" }) },
  emit: { keys: ["tag", "data"], required: ["tag"], read: readEmit },
  webhook: { keys: ["url", "token_file", "body"], required: ["url"], read: readWebhook },
};

/**
 * Reads an action: a map with one key, which is the kind of the action.
 *
 * @throws SvcError with the position
 */
export function readAction(node: YamlNode, place: Place, trust: EventTrust): Action {
  const [entry, more] = entriesOf(node, place);
  const names = Object.keys(kinds).join(", ");
  if (entry === undefined || more !== undefined) {
    throw failure(
      place,
      more?.keyAt ?? node.at,
      `expected one of ${names} in each item, such as - approve: {}`,
    );
  }
  fieldsOf(node, place, Object.keys(kinds));
  const { keys, required, read } = kinds[entry.key as Action["kind"]];
  const inside = within(place, entry.key);
  if (keys.length === 0 && entriesOf(entry.value, inside).length > 0) {
    throw failure(inside, entry.value.at, `takes no fields: write ${entry.key}: {}`);
  }
  const fields = fieldsOf(entry.value, inside, keys);
  const missing = required.find((key) => !fields.has(key));
  if (missing !== undefined) throw failure(inside, entry.value.at, `${missing} is missing`);
  return read(fields, inside, trust);
}

function readJob(fields: Fields, place: Place, trust: EventTrust): Action {
  const name = fields.get("function");
  const args = fields.get("args");
  const inFunction = within(place, "function");
  const called = need(name, (node) =>
    placed(inFunction, node.at, () => functionNamed(literalOf(node, inFunction, 128))),
  );
  const given = args === undefined ? {} : readArgs(called, args.value, within(place, "args"), trust);
  const at = args?.value.at ?? name?.value.at ?? { line: 1, column: 1 };
  placed(place, at, () => checkArgs(called, given));
  return {
    kind: "job",
    target: readTarget(fields, place),
    function: called.name,
    args: given,
    ...(trust.unsafe ? { unsafe: true } : {}),
    ...readTimeout(fields, place),
  };
}

function readArgs(
  called: ModuleFunction,
  node: YamlNode,
  place: Place,
  trust: EventTrust,
): Record<string, Plain> {
  const args = templateMapOf(node, place);
  for (const { key, value } of entriesOf(node, place)) {
    const inside = within(place, key);
    for (const refusal of placeholderRefusals(called, key, args)) {
      trust.onRefusal(inside, placeOf(refusal, value), refusal.reason);
    }
    const spec = Object.hasOwn(called.args, key) ? called.args[key] : undefined;
    if (spec === undefined || allPlaceholders(args[key] ?? null).length > 0) continue;
    const problem = argumentProblem(spec, args[key]);
    if (problem !== undefined) throw failure(inside, value.at, problem);
  }
  return args;
}

function placeOf({ item }: Refusal, node: YamlNode): TextPosition {
  const found =
    node.kind === "list"
      ? node.items[Number(item)]
      : node.kind === "map"
        ? node.entries.find(({ key }) => key === item)?.value
        : undefined;
  return (found ?? node).at;
}

/** Checks the arguments without event data now. The others are checked when they are rendered. */
function checkArgs(called: ModuleFunction, args: Record<string, Plain>): void {
  const isOpen = (name: string) => allPlaceholders(args[name] ?? null).length > 0;
  const open = Object.keys(args).filter((name) => Object.hasOwn(called.args, name) && isOpen(name));
  if (open.length === 0) {
    checkCall(called.name, args);
    return;
  }
  // The same function, but without checks of the arguments that are not known yet.
  const rest = Object.fromEntries(Object.entries(args).filter(([name]) => !open.includes(name)));
  const known = Object.fromEntries(Object.entries(called.args).filter(([name]) => !open.includes(name)));
  const { refuse: _later, ...settled } = called;
  checkArguments({ ...settled, args: known }, rest);
}

function readStates(fields: Fields, place: Place): Action {
  const sls = fields.get("sls")?.value;
  const test = fields.get("test")?.value;
  const inSls = within(place, "sls");
  return {
    kind: "states",
    target: readTarget(fields, place),
    sls: sls === undefined ? [] : itemsOf(sls, inSls, maxStates).map((item) => literalOf(item, inSls, 256)),
    test: test === undefined ? false : booleanOf(test, within(place, "test")),
    ...readTimeout(fields, place),
  };
}

function readTarget(fields: Fields, place: Place): RuleTarget {
  const inside = within(place, "target");
  return need(fields.get("target"), (node) => {
    const text = textOf(node, inside, maxText);
    if (text === sourcePlaceholder) return { source: true };
    if (text.includes(opening)) {
      throw failure(
        inside,
        node.at,
        `the only value with a placeholder that is allowed here is ${sourcePlaceholder}: an event must not choose the target`,
      );
    }
    placed(inside, node.at, () => parseTarget(text));
    return { expression: text };
  });
}

const sourcePlaceholder = `${opening}source}`;

function readTimeout(fields: Fields, place: Place): { timeout?: string } {
  const node = fields.get("timeout")?.value;
  if (node === undefined) return {};
  const inside = within(place, "timeout");
  durationOf(node, inside, 1, maxTimeoutMs);
  return { timeout: textOf(node, inside, 40) };
}

function readEmit(fields: Fields, place: Place): Action {
  const data = fields.get("data")?.value;
  const inside = within(place, "tag");
  const tag = need(fields.get("tag"), (node) => {
    const text = literalOf(node, inside, maxTagLength);
    const segments = text.split("/");
    if (segments.length > maxTagSegments || !segments.every((segment) => tagSegment.test(segment))) {
      throw failure(inside, node.at, "expected letters, digits, - and _, in segments separated by /");
    }
    if (isServiceTag(text))
      throw failure(inside, node.at, "tags that begin with svc/ are reserved for the service");
    return text;
  });
  return { kind: "emit", tag, data: data === undefined ? {} : templateMapOf(data, within(place, "data")) };
}

function readWebhook(fields: Fields, place: Place): Action {
  const inUrl = within(place, "url");
  const url = need(fields.get("url"), (node) => {
    const problem = webhookUrlProblem(literalOf(node, inUrl, maxText), {
      secretOption: "token_file",
      isPlainAllowed: true,
    });
    if (problem !== undefined) throw failure(inUrl, node.at, problem);
    return textOf(node, inUrl, maxText);
  });
  const token = fields.get("token_file")?.value;
  const body = fields.get("body")?.value;
  return {
    kind: "webhook",
    url,
    ...(token === undefined ? {} : { tokenFile: readTokenFile(token, within(place, "token_file")) }),
    ...(body === undefined ? {} : { body: templateOf(body, within(place, "body")) }),
  };
}

function readTokenFile(node: YamlNode, place: Place): string {
  const path = literalOf(node, place, maxText);
  if (/^\/[^\r\n\0]*$/.test(path)) return path;
  throw failure(place, node.at, "expected the absolute path of a file, not its content");
}

/** Returns a required field, whose presence was checked before. */
function need<T>(entry: YamlEntry | undefined, read: (node: YamlNode) => T): T {
  if (entry === undefined) throw new Error("a required field is missing");
  return read(entry.value);
}
