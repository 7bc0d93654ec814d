import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { displayPeelId } from "../../base/names/peel-id.ts";
import { ApiError, type App, routes } from "../api/mod.ts";

/** The peels that a target means now. */
export interface Preview {
  /** The target that was resolved. */
  target: string;
  total: number;
  /** Those on the first page, which is all of them in most fleets. */
  peels: readonly { peel: string; alive: boolean }[];
  problem?: string;
}

/** Nobody types the next sign in this time. */
const pauseMs = 250;

/**
 * Resolves a target while it is typed.
 *
 * @param wrong what the parser says of it: then nothing is asked
 * @returns the last one that was resolved, also while a newer target is typed
 */
export function usePreview(app: App, target: string, wrong: string | undefined): Preview | undefined {
  const preview = useSignal<Preview | undefined>(undefined);
  useEffect(() => {
    if (target === "" || wrong !== undefined) {
      preview.value = undefined;
      return;
    }
    const over = new AbortController();
    const timer = app.clock.after(pauseMs, async () => {
      try {
        const { total, targets } = await app.client.call(routes.resolveTarget, { target }, over.signal);
        if (!over.signal.aborted) {
          const peels = targets.map(({ peel_id, alive }) => ({ peel: displayPeelId(peel_id), alive }));
          preview.value = { target, total, peels };
        }
      } catch (thrown) {
        if (over.signal.aborted) return;
        const problem = thrown instanceof ApiError ? thrown.message : String(thrown);
        preview.value = { target, total: 0, peels: [], problem };
      }
    });
    return () => {
      timer.cancel();
      over.abort();
    };
  }, [target, wrong]);
  return preview.value;
}
