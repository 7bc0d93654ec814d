import { defined } from "../../base/defined.ts";
import { SvcError } from "../../base/errors.ts";
import type { Caller, OperatorCaller } from "../operation/mod.ts";
import { identityOf } from "../roles/mod.ts";
import type { Party } from "./record.ts";

/**
 * The requester of an approval, or an approver, as it is stored.
 *
 * @param at milliseconds since the Unix epoch
 * @throws SvcError `forbidden` for a caller who only claims a name: anyone could agree in the name of another
 */
export function partyOf(caller: Caller, at: number): Party {
  if (caller.kind !== "operator" || caller.roles === undefined) {
    throw new SvcError(
      "forbidden",
      "only an operator with a key or a token of their own can do this: install your operator file with svc login FILE",
    );
  }
  const { name, door, roles, key, signed, bearer } = caller;
  return {
    ...{ name, door, roles, at },
    person: bearer?.kind === "token" ? bearer.creator : name,
    ...defined({ identity: identityOfCaller(caller), key, bearer: bearerOf(bearer) }),
    ...defined({ subject: signed?.subject, envelope: signed?.envelope }),
  };
}

function identityOfCaller({ name, key, bearer }: OperatorCaller): string | undefined {
  switch (bearer?.kind) {
    case "operator":
      return identityOf.operator(name);
    case "file":
      return identityOf.file(name);
    case "oidc":
      return bearer.subject === undefined ? undefined : identityOf.oidc(bearer.issuer, bearer.subject);
    case "token":
      return undefined;
    default:
      return key === undefined ? undefined : identityOf.operator(name);
  }
}

function bearerOf(bearer: OperatorCaller["bearer"]): string | undefined {
  return bearer?.kind === "token" ? bearer.id : bearer?.kind;
}

/** The caller of a stored request, with the current roles. */
export function callerOf(
  { name, person, door, key, subject, envelope, bearer }: Party,
  roles: readonly string[],
): OperatorCaller {
  const kind =
    bearer === undefined || bearer === "oidc"
      ? undefined
      : bearer === "file" || bearer === "operator"
        ? ({ kind: bearer } as const)
        : ({ kind: "token", id: bearer, creator: person } as const);
  const signed = subject === undefined || envelope === undefined ? undefined : { subject, envelope };
  return { kind: "operator", name, door, roles, ...defined({ key, signed, bearer: kind }) };
}
