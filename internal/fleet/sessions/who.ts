import { defined } from "../../base/defined.ts";
import { SvcError } from "../../base/errors.ts";
import type { Bearer, Caller, OperatorCaller } from "../operation/mod.ts";
import type { Who } from "./record.ts";

/** What someone may do now; without `roles` everything, and `refused` says why they are not admitted any more. */
export type Standing = { readonly roles?: readonly string[] } | { readonly refused: string };

/** What a caller over a session shows to operations that judge or store the caller. */
export function bearerOfSession(who: Who): Pick<OperatorCaller, "bearer"> {
  const bearer = ((): Bearer | undefined => {
    switch (who.by) {
      case "operator":
        return { kind: "operator" };
      case "unregistered":
        return undefined;
      case "file":
        return { kind: "file" };
      case "token":
        return { kind: "token", id: who.token, creator: who.creator };
      case "oidc":
        return { kind: "oidc", issuer: who.issuer, ...defined({ subject: who.subject }) };
    }
  })();
  return bearer === undefined ? {} : { bearer };
}

/**
 * The operator that a link signs in.
 *
 * @throws SvcError `forbidden` for a caller that cannot be judged later by more than a name, or has only a session
 */
export function whoOfCaller(caller: Caller): Who {
  if (caller.kind !== "operator") throw new SvcError("forbidden", "only an operator can create a link");
  const { name, key, roles, bearer, session } = caller;
  if (session !== undefined) {
    throw new SvcError(
      "forbidden",
      "a session of the console cannot make a link: it would outlive the session; use svc console",
    );
  }
  if (bearer?.kind === "token") return { by: "token", name, token: bearer.id, creator: bearer.creator };
  if (bearer !== undefined) {
    throw new SvcError(
      "forbidden",
      `${name} cannot make a link with this token: paste the token into the console, or sign in at the provider there`,
    );
  }
  if (key !== undefined) return { by: "operator", name, key };
  if (roles === undefined) return { by: "unregistered", name };
  throw new SvcError("forbidden", `${name} cannot make a link without a signed request: use svc console`);
}
