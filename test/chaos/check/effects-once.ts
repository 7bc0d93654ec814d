import { type Check, callsOf } from "../history.ts";

/** No command ran twice on a peel, and none ran that was not asked for. */
export const checkEffectsOnce: Check = (history, final) => {
  const requested = new Map(
    callsOf(history, "dispatch", "rollout").map(({ token, at }) => [token ?? "", at] as const),
  );
  return Object.entries(final.effects).flatMap(([peel, lines]) =>
    [...Map.groupBy(lines, (line) => line)].flatMap(([token, { length }]) => {
      const at = requested.get(token);
      if (at !== undefined && length === 1) return [];
      const what = at === undefined ? "was not asked for" : `ran ${length} times`;
      return [{ invariant: "effects once", at: at ?? 0, text: `${token} ${what} on ${peel}` }];
    }),
  );
};
