import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Plan, TypedSizes } from "./plan.ts";

/** The waves as they are typed, and the same in words. */
export interface PlannedWaves {
  plan: Plan;
  /** `4 waves: 1, then 3 of 25`; empty where something is wrong. */
  words: string;
}

/**
 * Plans the waves while their sizes are typed.
 *
 * @param all number of peels; 0 while it is not known
 * @returns `undefined` while what is typed is not planned yet
 */
export function usePlan(all: number, { canary, waves, max_failures }: TypedSizes): PlannedWaves | undefined {
  const key = [all, canary, waves, max_failures].join("\n");
  const planned = useSignal<(PlannedWaves & { key: string }) | undefined>(undefined);
  useEffect(() => {
    let over = false;
    import("./plan.ts").then(({ planWaves, wavesInWords }) => {
      if (over) return;
      // Sizes are judged before the peels are known as well.
      const plan = planWaves(Math.max(all, 1), { canary, waves, max_failures });
      planned.value = { key, plan, words: "waves" in plan ? wavesInWords(plan.waves) : "" };
    });
    return () => {
      over = true;
    };
  }, [key]);
  return planned.value?.key === key ? planned.value : undefined;
}
