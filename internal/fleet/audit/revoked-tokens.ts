import type { Bus } from "../../bus/connection/mod.ts";
import type { StreamEnds } from "../../bus/streams/mod.ts";
import type { Entry } from "./entry.ts";
import { readEntriesAfter } from "./read-entries.ts";

/** A token that an operator revoked. */
export interface RevokedToken {
  id: string;
  /** When it would have ended, milliseconds since the Unix epoch. */
  expiresAt: number;
}

/**
 * Follows the revocations of tokens in the audit, from its oldest entry on. A master that was stopped learns those
 * that it missed, also when an attacker who controls the bus has put the tokens back.
 *
 * @param options.take called with each revocation, at least once
 * @returns reads what was written since the last time, with the ends of the audit, asked for just now; it throws
 *   SvcError `storage`
 */
export function followRevokedTokens(options: {
  bus: Bus;
  /** The public command keys that the fleet has or had. */
  keys(): readonly string[];
  take(token: RevokedToken): void;
}): (ends: StreamEnds) => Promise<void> {
  const { bus, keys } = options;
  let after = 0;
  const take = ({ outcome, subjects: { token_id: id, token_expires: expires } }: Entry) => {
    const expiresAt = typeof expires === "string" ? Date.parse(expires) : Number.NaN;
    if (outcome === "done" && typeof id === "string" && !Number.isNaN(expiresAt))
      options.take({ id, expiresAt });
  };
  return async (ends) => {
    after = await readEntriesAfter({ bus, keys, actions: "tokens.revoke", after, ends, take });
  };
}
