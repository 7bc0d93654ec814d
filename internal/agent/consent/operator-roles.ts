import { quote } from "../../base/cut.ts";
import { SvcError } from "../../base/errors.ts";
import { suggestion } from "../../base/nearest.ts";
import { functionNames } from "../../host/modules/mod.ts";
import { matchGlob } from "../../tree/targets/mod.ts";
import type { Operator } from "../../wire/operator-standing.ts";
import { refuse } from "./refusal.ts";

// A master judges what an operator may do, and a stolen one judges nothing: with the key of someone who may only read,
// it would run everything.

/** Functions by the role that a request for one of them needs. */
export type OperatorRoles = ReadonlyMap<string, readonly string[]>;

/** Verifies that a role of an operator allows requests for a function on this peel. */
export function checkRoles({ name, roles }: Operator, called: string, allowed: OperatorRoles): void {
  const own = roles.filter((role) => allowed.has(role));
  if (own.some((role) => allowed.get(role)?.some((pattern) => matchGlob(pattern, called)))) return;
  const [role = roles[0] ?? ""] = own;
  const line = `${role}: [${[...(allowed.get(role) ?? []), called].map((one) => JSON.stringify(one)).join(", ")}]`;
  refuse(
    `${name} has ${roles.join(", ")}, and no such role may request ${called} on this peel: to allow it, write ${line} below operator_roles`,
  );
}

/** Verifies that an operator has a role that counts on this peel. */
export function checkSomeRole({ name, roles }: Operator, allowed: OperatorRoles): void {
  if (roles.some((role) => allowed.has(role))) return;
  refuse(`${name} has ${roles.join(", ")}, and none of these is among operator_roles of this peel`);
}

/** @throws SvcError `bad_request` for a pattern that matches no function */
export function checkOperatorRoles(allowed: OperatorRoles): void {
  for (const [role, patterns] of allowed) {
    const stray = patterns.find((pattern) => !functionNames.some((name) => matchGlob(pattern, name)));
    if (stray === undefined) continue;
    const shown = quote(stray, 60);
    throw new SvcError(
      "bad_request",
      `operator_roles.${role}: ${shown} matches no function${suggestion(stray, functionNames)}`,
    );
  }
}
