import type * as v from "valibot";
import { defined } from "../../base/defined.ts";
import { list, optional, part, text } from "../../base/record-kinds.ts";
import type { Call } from "../operation/mod.ts";

/**
 * How records keep who made what admits hosts later: only while its maker has the right to set labels, it gives any.
 */
export const makerField = part({
  name: text(256),
  /** The roles at that time. Absent for one who was not registered. */
  roles: optional(list(text(256), 64)),
  /** Public key that signed the request. */
  key: optional(text(64)),
  /** What a request over REST showed: `file`, `operator`, `oidc`, or the id of a token. */
  bearer: optional(text(64)),
  /** The identity provider of `oidc`. */
  issuer: optional(text(1_024)),
});
export type Maker = v.InferOutput<typeof makerField.read>;

/** Who makes something by a request; `undefined` for a rule, which has no rights. */
export function makerOf({ caller }: Pick<Call, "caller">): Maker | undefined {
  if (caller.kind !== "operator") return undefined;
  const { name, roles, key, bearer } = caller;
  return {
    name,
    ...defined({ roles, key, bearer: bearer?.kind === "token" ? bearer.id : bearer?.kind }),
    ...(bearer?.kind === "oidc" ? { issuer: bearer.issuer } : {}),
  };
}
