import { defined } from "../../base/defined.ts";
import type { Log } from "../../base/log.ts";
import type { Decide, WayIn } from "../enrollment/joining/mod.ts";
import type { PolicyEngine } from "./decide.ts";
import type { Failure } from "./request-external.ts";

export interface PolicyWayDeps {
  engine: Pick<PolicyEngine, "decide">;
  metrics: {
    policyDecided(rule: string, decide: Decide): void;
    policyFailed(rule: string, failure: Failure): void;
  };
  log: Log;
}

/**
 * Lets the policy decide about hosts. It is never asked about one that trusted another root, nor, while another host
 * waits under the peel id, about one without evidence: a stranger would have a program run for each request.
 */
export function createPolicyWay({ engine, metrics, log }: PolicyWayDeps): WayIn {
  return {
    async judge({ record, contends }) {
      const proves = record.evidence !== undefined;
      if (record.trustMismatch === true || (contends === true && !proves)) return undefined;
      const decision = await engine.decide(record);
      if (decision === undefined) return undefined;
      const { rule, decide, labels, reason, failure } = decision;
      const said = { rule: rule.name, peel_id: record.peelId, enrollment_id: record.id };
      if (failure !== undefined) {
        metrics.policyFailed(rule.name, failure.kind);
        log.warn("enrollment policy failed; the host is held", { ...said, reason: failure.reason });
      }
      metrics.policyDecided(rule.name, decide);
      log.info("enrollment policy decided", { ...said, decide, ...defined({ reason }) });
      const proven = proves && decide === "approve" ? { proven: true as const } : {};
      return { decide, by: `policy:${rule.name}`, ...defined({ labels, reason }), ...proven };
    },
  };
}
