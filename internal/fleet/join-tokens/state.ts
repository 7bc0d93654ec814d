import type { JoinTokenRecord } from "./record.ts";

export const joinTokenStates = ["open", "used up", "ended", "revoked"] as const;
export type JoinTokenState = (typeof joinTokenStates)[number];

/**
 * Whether a token lets hosts in.
 *
 * @param used how many uses are taken
 * @param now milliseconds since the Unix epoch
 */
export function stateOf(token: JoinTokenRecord, used: number, now: number): JoinTokenState {
  if (token.revokedAt !== undefined) return "revoked";
  if (token.expiresAt <= now) return "ended";
  return used >= token.uses ? "used up" : "open";
}
