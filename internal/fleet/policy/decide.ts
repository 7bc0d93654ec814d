import { createSlots, type Slots } from "../../base/slots.ts";
import { type Enrollment, type Labels, labelsProblem } from "../enrollment/record/mod.ts";
import type { Answer } from "./answer.ts";
import { ruleFor } from "./match.ts";
import type { Policy, PolicyRule } from "./policy.ts";
import { type ExternalDeps, type Failure, NoAnswer, requestExternal } from "./request-external.ts";

/** How many hosts wait for a program or webhook at most; others get the answer to come again. */
const maxWaiting = 64;

/** What the policy decided about a host. */
export interface PolicyDecision extends Answer {
  rule: PolicyRule;
  /** Why nothing was decided: then the host is held. */
  failure?: { kind: Failure; reason: string };
}

export interface PolicyEngine {
  /**
   * Decides about a host.
   *
   * @returns `undefined` when no rule matches
   * @throws SvcError `rate_limited` when too many wait already
   */
  decide(record: Enrollment): Promise<PolicyDecision | undefined>;
  /** Programs and webhooks that run, and hosts that wait for one. */
  readonly load: { running: number; waiting: number };
}

export interface EngineDeps extends ExternalDeps {
  policy(): Policy;
}

/** Decides by a policy that may change meanwhile. */
export function createPolicyEngine(deps: EngineDeps): PolicyEngine {
  let slots: { workers: number; slots: Slots } | undefined;
  let running = 0;
  let active = 0;
  /** With another number of workers, what runs under the earlier one ends by itself. */
  const slotsFor = (workers: number): Slots => {
    if (slots?.workers !== workers) {
      slots = { workers, slots: createSlots({ atOnce: workers, waiting: maxWaiting, ofOne: 1 }) };
    }
    return slots.slots;
  };
  const judge = async (rule: PolicyRule, record: Enrollment, workers: number): Promise<Answer> => {
    const { decider } = rule;
    if ("decide" in decider) return decider;
    active++;
    try {
      // A host that repeats its request while the first one waits takes no second place.
      return await slotsFor(workers).run(async () => {
        running++;
        try {
          return await requestExternal(decider, record, deps);
        } finally {
          running--;
        }
      }, record.peelId);
    } finally {
      active--;
    }
  };
  return {
    async decide(record) {
      const { rules, workers } = deps.policy();
      const rule = ruleFor(rules, record);
      if (rule === undefined) return undefined;
      try {
        const answer = await judge(rule, record, workers);
        return { rule, ...answer, ...labelled(rule.labels, answer.labels) };
      } catch (thrown) {
        if (!(thrown instanceof NoAnswer)) throw thrown;
        return { rule, decide: "hold", failure: { kind: thrown.failure, reason: thrown.message } };
      }
    },
    get load() {
      return { running, waiting: active - running };
    },
  };
}

/** The labels of a rule and of an answer together. @throws NoAnswer when a record cannot have them */
function labelled(ofRule: Labels, ofAnswer: Labels = {}): { labels?: Labels } {
  const labels = { ...ofRule, ...ofAnswer };
  if (Object.keys(labels).length === 0) return {};
  const problem = labelsProblem(labels);
  if (problem === undefined) return { labels };
  throw new NoAnswer(
    "nonsense",
    `its answer is nonsense: labels: together with those of the rule they ${problem}`,
  );
}
