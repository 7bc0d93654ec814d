import { type Clock, rfc3339 } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import type { Random } from "../../base/id.ts";
import type { Log } from "../../base/log.ts";
import {
  type AuthorityInForce,
  describeCertificate,
  reissueIntermediate,
  remainingLife,
} from "../../identity/ca/mod.ts";

/** An intermediate with less of its life left is issued again. */
const minLife = 1 / 3;

type Held = Pick<AuthorityInForce, "authority" | "rotation">;

/**
 * Whether the intermediate of an authority is due, and can be issued again here. An operator who keeps the root key
 * elsewhere runs `svc ca renew-intermediate` there: alerts warn in time.
 *
 * @param now milliseconds since the Unix epoch
 */
export function isIntermediateDue({ authority, rotation }: Held, now: number): boolean {
  // The next authority of a rotation is new.
  if (!authority.hasRootKey || rotation !== undefined) return false;
  const { notBefore, notAfter } = describeCertificate(authority.intermediatePem);
  // One that ends with the root would end with it again.
  return (
    remainingLife(notBefore, notAfter, now) < minLife &&
    notAfter < describeCertificate(authority.rootPem).notAfter
  );
}

/**
 * Issues the intermediate of a CA directory again, for the same key. Everything that it issued stays valid.
 *
 * @param options.onFailure called when it could not be issued or written
 */
export async function renewIntermediate(options: {
  dir: string;
  clock: Clock;
  random: Random;
  log: Log;
  onFailure(reason: string): void;
}): Promise<void> {
  const { dir, clock, random, log, onFailure } = options;
  try {
    const { after } = await reissueIntermediate({ dir, clock, random });
    log.info("the intermediate of the CA was issued again", { not_after: rfc3339(after.notAfter) });
  } catch (thrown) {
    onFailure(describeError(thrown));
  }
}
