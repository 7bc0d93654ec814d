import type { Clock } from "../../../base/clock.ts";
import { isSiteName, siteLabel } from "../../../base/names/site-name.ts";
import { type AccountSigner, encodeJwt, type KeyPair } from "../../../identity/mod.ts";
import type { Enrollment } from "../record/mod.ts";
import { peelLimits, peelPermissions } from "./permissions.ts";

/** The longest that `enroll.creds_validity` allows: no unknown credentials are valid for longer. */
export const maxValidityMs = 87_600 * 60 * 60 * 1000;

export interface MintDeps {
  /** What signs the JWT for the peels' account. Asked each time: a signing key can be replaced meanwhile. */
  account: () => KeyPair | AccountSigner;
  /** How long credentials last. */
  validityMs: number;
  clock: Clock;
}

/**
 * The JWT with which a peel connects to the bus.
 *
 * @param labels of the peel; one of them may name its site
 * @param busPublicKey `U…`, the key that it connects with
 * @param until when the JWT expires, milliseconds since the Unix epoch; a whole lifetime from now unless given
 */
export function mint(
  { account, validityMs, clock }: MintDeps,
  { peelId, labels }: Pick<Enrollment, "peelId" | "labels">,
  busPublicKey: string,
  until?: number,
): { jwt: string; expiresAt: number } {
  const site = labels?.[siteLabel];
  const issuedAt = Math.floor(clock.now() / 1000);
  const expiresAt = Math.floor((until ?? issuedAt * 1000 + validityMs) / 1000);
  const jwt = encodeJwt(
    {
      type: "user",
      name: peelId,
      subject: busPublicKey,
      issuedAt,
      expiresAt,
      nats: {
        ...peelPermissions(peelId, site !== undefined && isSiteName(site) ? site : undefined),
        ...peelLimits,
      },
    },
    account(),
  );
  return { jwt, expiresAt: expiresAt * 1000 };
}
