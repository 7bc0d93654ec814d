import type { CreatorKind, Token } from "./record.ts";

export const tokenStates = ["live", "expired", "revoked", "orphaned"] as const;
/** `orphaned`: its creator has ended, or has none of its roles any more. */
export type TokenState = (typeof tokenStates)[number];

/**
 * The roles that the creator of a token has now; `undefined` for one who is no longer there, or is disabled.
 */
export type CreatorRoles = (creator: CreatorKind, name: string) => readonly string[] | undefined;

/** What a token is judged by. */
export interface TokenJudging {
  creatorRoles: CreatorRoles;
  /** Whether these roles allow everything that another role allows. */
  covers(has: readonly string[], role: string): boolean;
}

/** A token as it is valid now: its roles are those that its creator still has. */
export interface Standing {
  state: TokenState;
  roles: readonly string[];
}

/** Judges a token. @param now milliseconds since the Unix epoch */
export function standingOf(token: Token, judging: TokenJudging, now: number): Standing {
  if (token.revokedAt !== undefined) return { state: "revoked", roles: [] };
  if (token.expiresAt <= now) return { state: "expired", roles: [] };
  const has = judging.creatorRoles(token.creator, token.createdBy) ?? [];
  const roles = token.roles.filter((role) => judging.covers(has, role));
  return { state: roles.length === 0 ? "orphaned" : "live", roles };
}
