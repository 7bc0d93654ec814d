import type { SignedIn } from "./tokens.ts";

/** Whose budget a request over HTTPS spends: that of its session or of its token. */
export function senderOf({ name, session, bearer }: SignedIn): string {
  if (session !== undefined) return `session ${session.id}`;
  switch (bearer?.kind) {
    case "token":
      return `token ${bearer.id}`;
    case "oidc":
      return `oidc ${bearer.issuer} ${name}`;
    default:
      return `token of ${name}`;
  }
}
