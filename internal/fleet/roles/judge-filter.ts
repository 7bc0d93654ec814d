import { namesSetting } from "../../tree/targets/mod.ts";
import type { Passenger } from "../operation/mod.ts";
import { type Decision, decide } from "./decide.ts";
import type { RoleBook } from "./role.ts";

/** Whether roles allow to see the values of settings, without the agreement of others. */
export function mayReveal(book: RoleBook, roles: readonly string[]): boolean {
  const decision = decide(book, roles, { scope: { kind: "settings", action: "reveal" } });
  return decision.allowed && decision.approvals === 0;
}

/**
 * Judges a target that chooses peels by their settings: which peels it means says what is in the settings, so it
 * needs the right to read them. Rules of roles and node groups are files of masters, and may use settings for everyone.
 *
 * @returns the refusal; `undefined` where there is nothing to refuse
 */
export function judgeFilter(
  book: RoleBook,
  roles: readonly string[],
  touched: Passenger["touched"],
): Extract<Decision, { allowed: false }> | undefined {
  const target = "peels" in touched && "expression" in touched.peels ? touched.peels.expression : "";
  if (!namesSetting(target)) return undefined;
  const decision = decide(book, roles, { scope: { kind: "settings", action: "render" } });
  if (decision.allowed) return undefined;
  return { ...decision, reason: `I@ in a target reads settings: ${decision.reason}` };
}
