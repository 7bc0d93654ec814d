import { curvePublicKeyOf } from "../../identity/mod.ts";
import { hintForHidden } from "../../wire/hidden-values.ts";
import type { Caller } from "../operation/mod.ts";
import type { Job } from "./records/mod.ts";

/**
 * The key that peels seal to what the return of a function hides: that of an operator who signed the request, and may
 * reveal settings.
 *
 * @param mayReveal whether roles allow that, without the agreement of others
 * @returns `undefined` where nobody sees it
 */
export function sealToOf(
  caller: Caller,
  name: string,
  mayReveal: (roles: readonly string[]) => boolean,
): string | undefined {
  if (hintForHidden(name) === undefined || caller.kind !== "operator") return undefined;
  const { signed, key, roles } = caller;
  if (signed === undefined || key === undefined || roles === undefined || !mayReveal(roles)) return undefined;
  return curvePublicKeyOf(key);
}

/** Whether the returns of a job are sealed to this caller. */
export function isSealedTo(caller: Caller, { sealTo }: Pick<Job, "sealTo">): boolean {
  if (sealTo === undefined || caller.kind !== "operator" || caller.key === undefined) return false;
  return curvePublicKeyOf(caller.key) === sealTo;
}
