import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { ApiError, type App, routes } from "../../api/mod.ts";

/** How far a master has verified the audit. */
export type ChainState = NonNullable<(typeof routes.verifyAudit)["types"]>["answer"];

/** Afterwards only what is new is verified. */
const everyMs = 15_000;

/**
 * Has a master verify the whole audit, some entries with each request.
 *
 * @returns `again` begins with the oldest entry
 */
export function useChain(app: App): {
  state: ChainState | undefined;
  problem: ApiError | undefined;
  again(): void;
} {
  const state = useSignal<ChainState | undefined>(undefined);
  const problem = useSignal<ApiError | undefined>(undefined);
  const anew = useRef(() => {});
  useEffect(() => {
    const over = new AbortController();
    let busy = false;
    let wanted = false;
    const check = async () => {
      if (busy) return;
      busy = true;
      try {
        do {
          const input = wanted ? { again: "yes" as const } : {};
          wanted = false;
          state.value = await app.client.call(routes.verifyAudit, input, over.signal);
          problem.value = undefined;
        } while (wanted || !state.value.done);
      } catch (thrown) {
        if (over.signal.aborted) return;
        problem.value = thrown instanceof ApiError ? thrown : new ApiError(0, String(thrown));
      } finally {
        busy = false;
      }
    };
    anew.current = () => {
      wanted = true;
      check();
    };
    check();
    const timer = app.clock.every(everyMs, check);
    return () => {
      over.abort();
      timer.cancel();
    };
  }, [app]);
  return { state: state.value, problem: problem.value, again: () => anew.current() };
}
