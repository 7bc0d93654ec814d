import { namesSetting } from "../../tree/targets/mod.ts";
import { nameOfScope, type Passenger, type Scope } from "../operation/mod.ts";
import { type Decision, decide } from "./decide.ts";
import type { RoleBook } from "./role.ts";

const reading: Scope = { kind: "settings", action: "render" };

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
  const decision = decide(book, roles, { scope: reading });
  if (!decision.allowed) return { ...decision, reason: `I@ in a target reads settings: ${decision.reason}` };
  // A read cannot wait for others.
  if (decision.approvals === 0) return undefined;
  const reason = `I@ in a target reads settings, which needs the agreement of others (${decision.rule})`;
  return { allowed: false, reason, lacking: nameOfScope(reading), holders: [] };
}
