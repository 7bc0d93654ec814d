import { waysOut } from "./argument-policy.ts";
import type { RefusedRule } from "./rule.ts";

const maxShown = 3;

/** One line on the rules that are not in force, with what to do; `undefined` when there are none. */
export function refusedMessage(refused: readonly RefusedRule[]): string | undefined {
  if (refused.length === 0) return undefined;
  const places = refused.flatMap((rule) => rule.places);
  const shown = places.slice(0, maxShown).map(({ text }) => text);
  const more = places.length - shown.length;
  const others = more === 0 ? "" : `; and ${more} more`;
  const count = refused.length === 1 ? "1 rule" : `${refused.length} rules`;
  return `${count} refused: ${shown.join("; ")}${others}; ${waysOut}`;
}
