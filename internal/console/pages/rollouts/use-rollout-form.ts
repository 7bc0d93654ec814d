import { useSignal } from "@preact/signals";
import { type App, routes } from "../../api/mod.ts";
import { type TypedCall, useCall, useTarget } from "../../calls/mod.ts";
import type { Place } from "../../kit/router.ts";
import { usePlan } from "./use-plan.ts";

/** A rollout as it is typed into its form. */
export function useRolloutForm(app: App, { query }: Place) {
  const call = useCall(query.get("function") ?? "");
  const check = useCall();
  const target = useTarget(app, query.get("target") ?? "");
  const [canary, waves, wait, failures] = [useSignal("1"), useSignal("25%"), useSignal("0"), useSignal("0")];
  const [timeout, deadline, checkTimeout] = [useSignal("1m"), useSignal("24h"), useSignal("1m")];
  const total = target.preview?.total ?? 0;
  const sizes = { canary: canary.value, waves: waves.value, max_failures: failures.value };
  const planned = usePlan(total, sizes);
  const hasCheck = check.name.value.trim() !== "";
  const plan = planned?.plan;
  const wrongSizes = plan !== undefined && "problems" in plan ? plan.problems : {};

  /** Why it cannot be started yet, in a sentence; empty when it can, or when a field says why. */
  const lacking = (): string => {
    if (hasCheck && check.lacking() !== "") return `Check: ${check.lacking()}`;
    const unknown = call.lacking() || target.lacking();
    if (unknown !== "" || planned !== undefined) return unknown;
    return "Wait until the waves are planned.";
  };
  return {
    ...{ call, check, target, canary, waves, wait, failures, timeout, deadline, checkTimeout, hasCheck },
    ...{ total, planned, wrongSizes, lacking },
    isReady: () => call.isReady() && (!hasCheck || check.isReady()) && plan !== undefined && "waves" in plan,
    /** Starts it. @returns the path of its page */
    async start(): Promise<string> {
      const { sizesOf } = await import("./plan.ts");
      const { id } = await app.client.call(routes.startRollout, {
        ...{ target: target.wanted, ...requestOf(call), timeout: timeout.value.trim() },
        ...{ canary: canary.value.trim(), waves: sizesOf(waves.value), wave_wait: wait.value.trim() },
        ...{ max_failures: failures.value.trim(), deadline: deadline.value.trim() },
        ...(hasCheck ? { check: { ...requestOf(check), timeout: checkTimeout.value.trim() } } : {}),
      });
      return `/rollouts/${id}`;
    },
  };
}

export type RolloutForm = ReturnType<typeof useRolloutForm>;

const requestOf = ({ name, args }: TypedCall) => ({ function: name.value.trim(), args });
