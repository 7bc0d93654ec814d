import type { Outcome } from "../../kit/outcome.ts";

/** How an operator or a token looks by its state. */
export const standings: Readonly<Record<string, Outcome>> = {
  active: "ok",
  live: "ok",
  disabled: "skipped",
  expired: "timeout",
  orphaned: "timeout",
  revoked: "failed",
  refused: "failed",
};
