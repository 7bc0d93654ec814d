import * as v from "valibot";
import { defined } from "../../base/defined.ts";
import { type Path, type Places, readDocument } from "../../base/document/read.ts";
import { nameOfRules, ruleName } from "../../base/document/rules.ts";
import {
  absolutePath,
  duration,
  fields,
  formOf,
  integer,
  list,
  mapOf,
  oneOf,
  oneOrMore,
  readBy,
  refuse,
  type Schema,
  text,
} from "../../base/document/schemas.ts";
import { kindOf } from "../../base/document/written.ts";
import { SvcError } from "../../base/errors.ts";
import { parseIpNetwork } from "../../base/names/ip-network.ts";
import { atLine } from "../../base/place.ts";
import { webhookUrlProblem } from "../../base/webhook/url.ts";
import { evidenceTypes } from "../../identity/evidence/mod.ts";
import { decisions } from "../enrollment/joining/mod.ts";
import { type Labels, labelsProblem } from "../enrollment/record/mod.ts";
import { type Decider, type Policy, type PolicyRule, usualWorkers } from "./policy.ts";

const maxRules = 1_000;
const maxChoices = 256;
const maxGlob = 256;
const maxText = 4_096;
const maxReason = 1_024;
const maxWords = 64;
const maxWorkers = 64;
const usualTimeoutMs = 5_000;
const minTimeoutMs = 100;
/** A peel waits 15 s for the answer of a master, and a program may need 5 s more to be ended. */
const maxTimeoutMs = 8_000;

/**
 * Reads the text of a policy file.
 *
 * @param file its path, for messages
 * @throws SvcError `bad_request`: `<file>:<line>:<column>: <what>: <reason>`
 */
export function readPolicy(written: string, file: string): Policy {
  const document = readDocument(
    written,
    file,
    policyFile(),
    nameOfRules((number) => `rule-${number}`),
  );
  const { rules, workers = usualWorkers } = document.value ?? {};
  const byName = new Map<string, PolicyRule>();
  for (const [index, { name = `rule-${index + 1}`, match = {}, labels, ...given }] of (
    rules ?? []
  ).entries()) {
    const path = ["rules", index];
    const at = document.at(path);
    const other = byName.get(name);
    if (other !== undefined) {
      const where = atLine(file, other.at.line);
      throw document.failure([], `the name ${name} is already used by the rule at ${where}`, at);
    }
    const labelled = labelsOf(labels ?? new Map(), [...path, "labels"], document);
    byName.set(name, { name, match, labels: labelled, decider: deciderOf(given), at });
  }
  return { rules: [...byName.values()], workers };
}

/** A value may be empty, and a number counts as it is written. @throws SvcError for labels that no record may have */
function labelsOf(given: ReadonlyMap<string, string | number>, path: Path, document: Places): Labels {
  const labels = Object.fromEntries(
    Array.from(given, ([name, value]) => [name, document.digits([...path, name]) ?? String(value)]),
  );
  const problem = labelsProblem(labels);
  if (problem !== undefined) throw document.failure(path, problem);
  return labels;
}

type Rule = v.InferOutput<ReturnType<typeof policyRule>>;

function deciderOf({ decide, reason, program, webhook }: Rule): Decider {
  if (program !== undefined) return { program };
  if (webhook !== undefined) return { webhook };
  return { decide: decide ?? "hold", ...defined({ reason }) };
}

/** What a policy file may hold. */
export function policyFile() {
  const rules = v.nullable(list(policyRule(), maxRules));
  const workers = v.exactOptional(integer(1, maxWorkers, "number"));
  const missing = () => "rules is required: rules: [] for a policy without any";
  return v.nullable(fields({ rules, workers }, { missing }));
}

const deciders = ["decide", "program", "webhook"] as const;

function policyRule() {
  const label = v.union([v.string(), v.number()], ({ input }) => `expected a string, found ${kindOf(input)}`);
  const rule = fields({
    name: v.exactOptional(ruleName()),
    match: v.exactOptional(matchOfRule()),
    labels: v.exactOptional(mapOf(label)),
    decide: v.exactOptional(oneOf(decisions, () => "expected approve, reject or hold")),
    reason: v.exactOptional(text(maxReason)),
    program: v.exactOptional(program()),
    webhook: v.exactOptional(webhook()),
  });
  const problemOf = (given: v.InferOutput<typeof rule>) => {
    const found = deciders.filter((key) => given[key] !== undefined);
    if (found.length === 0) return `one of ${deciders.join(", ")} is required`;
    if (found.length > 1) return `${found.join(" and ")} exclude each other`;
    const isIdle = given.reason !== undefined && given.decide === undefined;
    return isIdle ? "reason is for decide: the answer has its own" : undefined;
  };
  return v.pipe(rule, refuse(problemOf));
}

function matchOfRule() {
  const choices = <T>(item: Schema<T>) => oneOrMore(item, maxChoices, "an empty list matches nothing");
  const network = v.pipe(text(64), readBy(networkOf));
  const trust = oneOf(
    ["ok", "unknown"],
    () => "expected ok, or unknown for a host that did not report it; no rule decides about a trust mismatch",
  );
  const types = choices(oneOf(evidenceTypes, () => `expected one of ${evidenceTypes.join(", ")}`));
  const anyFields = v.pipe(
    types,
    v.transform((kinds) => ({ types: kinds, fields: {} })),
  );
  const missing = () => `type is required: one of ${evidenceTypes.join(", ")}`;
  const theseFields = v.pipe(
    fields({ type: types, fields: v.exactOptional(mapOf(text(maxGlob))) }, { missing }),
    v.transform(({ type, fields: globs = new Map() }) => ({
      types: type,
      fields: Object.fromEntries(globs),
    })),
  );
  const evidence = formOf([anyFields, theseFields], (value) =>
    value instanceof Map ? theseFields : anyFields,
  );
  return fields({
    peel: v.exactOptional(choices(text(maxGlob))),
    address: v.exactOptional(choices(network)),
    trust: v.exactOptional(trust),
    evidence: v.exactOptional(evidence),
  });
}

function networkOf(written: string) {
  const network = parseIpNetwork(written);
  if (network !== undefined) return { text: written, network };
  throw new SvcError(
    "bad_request",
    "expected an address or a range such as 10.20.0.0/16, where bits beyond the length are zero",
  );
}

const timeout = () => v.exactOptional(duration(minTimeoutMs, maxTimeoutMs));

function program() {
  const argv = v.pipe(
    list(text(maxText), maxWords),
    v.check(
      ([first]) => first?.startsWith("/") === true,
      "expected a list that begins with the absolute path of a program",
    ),
    v.transform(([first = "", ...words]): [string, ...string[]] => [first, ...words]),
  );
  return v.pipe(
    fields({ argv, timeout: timeout() }),
    v.transform((given) => ({ argv: given.argv, timeoutMs: given.timeout ?? usualTimeoutMs })),
  );
}

function webhook() {
  const url = v.pipe(
    text(maxText),
    refuse((given) => webhookUrlProblem(given, { secretOption: "secret_file", isPlainAllowed: false })),
  );
  return v.pipe(
    fields({
      url,
      secret_file: absolutePath(),
      ca_file: v.exactOptional(absolutePath()),
      timeout: timeout(),
    }),
    v.transform((given) => ({
      url: given.url,
      secretFile: given.secret_file,
      ...defined({ caFile: given.ca_file }),
      timeoutMs: given.timeout ?? usualTimeoutMs,
    })),
  );
}
