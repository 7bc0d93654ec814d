import type { Fleet } from "../../internal/fleet/targeting/fleet.ts";
import { resolveExpression } from "../../internal/fleet/targeting/resolve.ts";
import type { ExpandedExpression } from "../../internal/tree/targets/expression.ts";
import { createRegexes } from "../../internal/tree/targets/pattern.ts";

/** Resolves an expression at once, whatever it costs. */
export function resolveAtOnce(
  expression: ExpandedExpression,
  fleet: Fleet,
  regexes = createRegexes(),
): string[] {
  const meter = { spend: () => {}, isOver: () => false };
  const resolving = resolveExpression(expression, fleet, { regexes, meter });
  for (;;) {
    const step = resolving.next();
    if (step.done === true) return step.value;
  }
}
