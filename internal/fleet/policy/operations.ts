import * as v from "valibot";
import { rfc3339 } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { formatDuration } from "../../base/duration.ts";
import { parseIp } from "../../base/names/ip-network.ts";
import { encodePeelId, isPeelId } from "../../base/names/peel-id.ts";
import { described, integer, plainMap, timestamp, titled } from "../../base/schema.ts";
import { evidenceTypes } from "../../identity/evidence/mod.ts";
import { type ListOpenWays, type OpenWay, wayKinds } from "../enrollment/mod.ts";
import { labelsField } from "../enrollment/record/mod.ts";
import { operation } from "../operation/mod.ts";
import { explainPolicy } from "./describe.ts";
import type { FollowedPolicy } from "./follow.ts";
import type { Applicant } from "./match.ts";

/** A named network, whose hosts share a budget of requests. */
export interface NamedBudget {
  name: string;
  cidr: readonly string[];
  capacity: number;
  /** Milliseconds. */
  refill: number;
  /** How many connections they may have together. */
  connections?: number | undefined;
}

/** What the operations on the policy of a master need. */
export interface PolicyOperationDeps {
  policy: Pick<FollowedPolicy, "path" | "current" | "problem">;
  /** What is open, of each way in. */
  ways: readonly ListOpenWays[];
  /** `enroll.networks` */
  networks: readonly NamedBudget[];
  /** Name of this master: each has a policy of its own. */
  self: string;
}

const common = {
  master: described(v.string(), "The master that answers: each has a policy file of its own"),
  file: described(v.string(), "Its policy file"),
  problem: v.exactOptional(described(v.string(), "Why the file is not in force as it is now")),
};

function commonOf({ policy, self }: PolicyOperationDeps) {
  return { master: self, file: policy.path, ...defined({ problem: policy.problem() }) };
}

const shownWay = titled(
  "OpenWay",
  v.object({
    kind: described(
      v.picklist(wayKinds),
      "`token`, `expected` hosts, a rule of the `policy` or of the `reactor`",
    ),
    name: described(v.string(), "Id of the token, name of the operator, or name of the rule"),
    peels: described(v.string(), "Which peel ids"),
    decides: described(v.string(), "What it decides, or which program or webhook does"),
    uses: v.exactOptional(described(integer, "How many hosts it can still admit; absent for any number")),
    expires_at: v.exactOptional(timestamp),
    labels: v.exactOptional(labelsField),
    conditions: v.exactOptional(described(v.string(), "Further conditions")),
    opened_by: v.exactOptional(described(v.string(), "The operator who opened it")),
  }),
);
export type ShownWay = v.InferOutput<typeof shownWay>;

export const explainWays = operation({
  name: "enrollments.ways",
  kind: "read",
  summary: "Show everything that can admit hosts without an operator",
  scope: { kind: "enrollments", action: "list" },
  output: v.object({
    ...common,
    ways: v.array(shownWay),
    networks: described(
      v.array(
        titled(
          "NamedNetwork",
          v.object({
            name: v.string(),
            cidr: v.array(v.string()),
            capacity: described(integer, "Requests at once"),
            refill: described(v.string(), "Time until one more is allowed"),
            connections: v.exactOptional(described(integer, "Connections that they may have together")),
          }),
        ),
      ),
      "Named networks, whose hosts share a budget of requests; they admit no host by themselves",
    ),
  }),
  async run(deps: PolicyOperationDeps) {
    const ways = (await Promise.all(deps.ways.map((list) => list()))).flat();
    const networks = deps.networks.map(({ name, cidr, capacity, refill, connections }) => ({
      ...{ name, cidr: [...cidr], capacity },
      refill: formatDuration(refill),
      ...defined({ connections }),
    }));
    return { ...commonOf(deps), ways: ways.map(show), networks };
  },
});

function show({ kind, name, peels, decides, uses, endsAt, labels, conditions, by }: OpenWay): ShownWay {
  return {
    ...{ kind, name, peels, decides },
    ...defined({ uses, labels, conditions, opened_by: by }),
    ...(endsAt === undefined ? {} : { expires_at: rfc3339(endsAt) }),
  };
}

export const trustAnswers = ["ok", "unknown"] as const;

/** A host as an operator describes it. */
const applicantFields = {
  peel: described(
    v.pipe(v.string(), v.transform(encodePeelId), v.check(isPeelId, "is not a peel id")),
    "Peel id, with dots or encoded",
  ),
  address: v.optional(
    described(
      v.pipe(
        v.string(),
        v.check((text) => parseIp(text) !== undefined, "must be an IP address"),
      ),
      "Address from which it would ask",
    ),
  ),
  trust: v.optional(
    described(v.picklist(trustAnswers), "`ok`: it trusts the root of this fleet; `unknown`: it did not say"),
    "ok",
  ),
  evidence: v.optional(described(v.picklist(evidenceTypes), "What it would prove in addition to its key")),
  fields: v.optional(described(plainMap, "The fields of that evidence")),
};
const applicantSchema = v.strictObject(applicantFields);
export type DescribedApplicant = v.InferInput<typeof applicantSchema>;

export const testPolicy = operation({
  name: "enrollments.policy-test",
  kind: "read",
  summary: "See which rule of the policy decides about a host, and why",
  description: "No program runs, and no webhook is called.",
  scope: { kind: "enrollments", action: "list" },
  input: applicantSchema,
  output: v.object({
    ...common,
    rule: v.exactOptional(described(v.string(), "The rule that decides; absent when none matches")),
    decides: described(
      v.string(),
      "What it decides, or which program or webhook would; `hold` when none matches",
    ),
    labels: described(labelsField, "The labels of the rule"),
    rules: v.array(
      titled(
        "PolicyRuleResult",
        v.object({
          rule: v.string(),
          line: described(integer, "Its line in the file"),
          result: v.picklist(["decides", "no match", "unreached"]),
          why: v.string(),
        }),
      ),
    ),
  }),
  touches: ({ peel }) => ({ peel }),
  async run(deps: PolicyOperationDeps, input) {
    const { rules, ...verdict } = explainPolicy(deps.policy.current(), applicantOf(input));
    return { ...commonOf(deps), ...verdict, rules };
  },
});

/** @throws ValiError naming the field */
export const readApplicant = (described: DescribedApplicant): Applicant =>
  applicantOf(v.parse(applicantSchema, described));

function applicantOf(input: v.InferOutput<typeof applicantSchema>): Applicant {
  const { peel: peelId, address, trust, evidence: type, fields = {} } = input;
  return {
    peelId,
    ...defined({ address }),
    ...(trust === "ok" ? { trustedCaSpki: `sha256:${"0".repeat(64)}` } : {}),
    ...(type === undefined ? {} : { evidence: { type, fields } }),
  };
}
