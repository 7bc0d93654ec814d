import type { Clock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import type { OpenWay } from "../enrollment/mod.ts";
import { stateOf } from "./state.ts";
import type { JoinTokenView } from "./view.ts";

/**
 * The tokens that admit hosts now.
 *
 * @throws SvcError `storage` or `unavailable`
 */
export async function openTokens(
  view: Pick<JoinTokenView, "all" | "used" | "caughtUp">,
  clock: Pick<Clock, "now">,
): Promise<OpenWay[]> {
  await view.caughtUp();
  const now = clock.now();
  return view.all().flatMap((token): OpenWay[] => {
    const used = view.used(token.id);
    if (stateOf(token, used, now) !== "open") return [];
    return [
      {
        ...{ kind: "token", name: token.id, peels: token.peel, by: token.createdBy },
        decides: token.hold ? "hold" : "approve",
        uses: token.uses - used,
        endsAt: token.expiresAt,
        labels: token.labels,
        ...defined({ conditions: token.note }),
      },
    ];
  });
}

/** Whether a token admits hosts now, and has uses left, as far as this master knows. */
export function isOpenToken(
  view: Pick<JoinTokenView, "get" | "used">,
  clock: Pick<Clock, "now">,
  id: string,
): boolean {
  const token = view.get(id);
  return token !== undefined && stateOf(token, view.used(id), clock.now()) === "open";
}
