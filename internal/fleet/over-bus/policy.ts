import { type AdminAction, adminQueue, adminSubject } from "../../bus/mod.ts";
import { explainWays, type PolicyOperationDeps, testPolicy } from "../policy/mod.ts";
import { type BusDoor, overBus, serve } from "./bind.ts";

const at = (action: AdminAction) => ({ subject: adminSubject(action), queue: adminQueue });

export const policyOverBus = {
  ways: overBus({ operation: explainWays, ...at("ways") }),
  test: overBus({ operation: testPolicy, ...at("policy-test") }),
};

export function servePolicy(door: BusDoor, deps: PolicyOperationDeps): void {
  serve(door, policyOverBus.ways, deps);
  serve(door, policyOverBus.test, deps);
}
