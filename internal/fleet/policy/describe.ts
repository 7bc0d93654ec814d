import { displayPeelId } from "../../base/names/peel-id.ts";
import type { OpenWay } from "../enrollment/mod.ts";
import type { Labels } from "../enrollment/record/mod.ts";
import { type Applicant, mismatchOf } from "./match.ts";
import type { Decider, Match, Policy, PolicyRule } from "./policy.ts";

/** What decides, in words: `approve`, `program /usr/local/bin/ask-cmdb`. URLs may have secrets in their path. */
function describeDecider(decider: Decider): string {
  if ("decide" in decider) return decider.decide;
  if ("program" in decider) return `program ${decider.program.argv[0]}`;
  return `webhook of ${new URL(decider.webhook.url).origin}`;
}

/** The conditions of a rule besides the peel id, in words; empty without any. */
function describeConditions({ address, trust, evidence }: Match): string {
  const fields = Object.entries(evidence?.fields ?? {}).map(([name, glob]) => `${name} ${glob}`);
  return [
    ...(address === undefined ? [] : [`from ${address.map(({ text }) => text).join(", ")}`]),
    ...(trust === undefined ? [] : [`trust ${trust}`]),
    ...(evidence === undefined ? [] : [[`evidence ${evidence.types.join(" or ")}`, ...fields].join(", ")]),
  ].join("; ");
}

const hasLabels = (labels: Labels) => Object.keys(labels).length > 0;

/** The rules that can admit a host, in their order. */
export function openRules({ rules }: Policy): OpenWay[] {
  return rules.flatMap(({ name, match, labels, decider }): OpenWay[] => {
    if ("decide" in decider && decider.decide !== "approve") return [];
    const conditions = describeConditions(match);
    return [
      {
        ...{ kind: "policy", name, peels: match.peel?.join(", ") ?? "*", decides: describeDecider(decider) },
        ...(hasLabels(labels) ? { labels } : {}),
        ...(conditions === "" ? {} : { conditions }),
      },
    ];
  });
}

/** What a policy would do about a host. */
export interface Verdict {
  /** The rule that decides; absent when none matches: then the host waits for an operator. */
  rule?: string;
  /** What it decides, or what it would ask. */
  decides: string;
  labels: Labels;
  /** Each rule, and why it does not match; `unreached` behind the one that decides. */
  rules: { rule: string; line: number; result: "decides" | "no match" | "unreached"; why: string }[];
}

/** Says which rule decides about a host, and why the ones before it do not. Nothing runs. */
export function explainPolicy({ rules }: Policy, applicant: Applicant): Verdict {
  let deciding: PolicyRule | undefined;
  const reported = rules.map((rule) => {
    const line = { rule: rule.name, line: rule.at.line };
    if (deciding !== undefined) {
      return { ...line, result: "unreached" as const, why: `${deciding.name} decides before it` };
    }
    const mismatch = mismatchOf(rule.match, applicant);
    if (mismatch !== undefined) return { ...line, result: "no match" as const, why: mismatch };
    deciding = rule;
    const conditions = describeConditions(rule.match);
    const peel =
      rule.match.peel === undefined ? [] : [`the peel id ${displayPeelId(applicant.peelId)} matches`];
    const why = [...peel, ...(conditions === "" ? [] : [conditions])].join("; ");
    return { ...line, result: "decides" as const, why: why === "" ? "it matches every host" : why };
  });
  if (deciding === undefined) return { decides: "hold", labels: {}, rules: reported };
  return {
    ...{ rule: deciding.name, decides: describeDecider(deciding.decider) },
    ...{ labels: deciding.labels, rules: reported },
  };
}
