import { SvcError } from "../../../base/errors.ts";
import { maxValidityMs } from "../bus-user/mod.ts";
import { transitions } from "../record/mod.ts";
import { type Directory, findByPeel } from "../store/mod.ts";
import { isRefused, type Revocation } from "./revocations.ts";
import { type EnforceRevocation, type RevokeDeps, revokeRecord } from "./revoke.ts";

export interface RevokeUserDeps extends RevokeDeps {
  revocations: RevokeDeps["revocations"] & { current(now: number): Promise<ReadonlyMap<string, Revocation>> };
  directory: Pick<Directory, "caughtUp" | "holderOf">;
  enforce: Pick<EnforceRevocation, "enforcer">;
}

/** What was revoked: a record, or a key that is in no record. */
export interface RevokedUser {
  peelId: string;
  enrollmentId?: string;
  busPublicKey?: string;
}

/**
 * Revokes a peel by its name, or a key of the bus, whether it is in a record or not.
 *
 * @throws SvcError `not_found` when nothing of this name is enrolled or refused; `unavailable` when it is stored but
 *   the bus did not confirm in time
 */
export async function revokeUser(
  deps: RevokeUserDeps,
  who: { peelId: string } | { key: string },
  operator: string,
  reason: string | undefined,
): Promise<RevokedUser[]> {
  const now = deps.clock.now();
  await deps.directory.caughtUp();
  const listed = await deps.revocations.current(now);
  const revoked: RevokedUser[] = [];
  const id = "key" in who ? deps.directory.holderOf(who.key) : await revocableId(deps, who.peelId);
  if (id !== undefined) {
    const { peelId, busPublicKey } = await revokeRecord(deps, { id, operator, reason });
    revoked.push({ peelId, enrollmentId: id, ...(busPublicKey === undefined ? {} : { busPublicKey }) });
  }
  const known = [...listed.values()].filter((one) =>
    "key" in who ? one.busPublicKey === who.key : one.peelId === who.peelId && isRefused(one, now),
  );
  const keys: Revocation[] =
    "key" in who && known.length === 0 && id === undefined
      ? // Nothing is known of it: the longest that any credentials last.
        [
          {
            busPublicKey: who.key,
            peelId: "",
            enrollmentId: "",
            revokedAt: now,
            expiresAt: now + maxValidityMs,
          },
        ]
      : known;
  for (const { stray: _, suspension: __, liftedAt: ___, ...entry } of keys) {
    await deps.revocations.add({ ...entry, revokedAt: now });
    if (revoked.some(({ busPublicKey }) => busPublicKey === entry.busPublicKey)) continue;
    revoked.push({ peelId: entry.peelId, busPublicKey: entry.busPublicKey });
  }
  if (revoked.length === 0) {
    throw new SvcError("not_found", "no enrollment that can be revoked and no refused key has this peel id");
  }
  if (!(await deps.enforce.enforcer.enforce())) {
    throw new SvcError("unavailable", "it is revoked, but the bus did not confirm in time: masters continue");
  }
  return revoked;
}

/** The enrollment of a peel that can be revoked. */
async function revocableId({ enrollments }: RevokeDeps, peelId: string): Promise<string | undefined> {
  const record = (await findByPeel(enrollments, peelId))?.current?.record;
  return record !== undefined && transitions[record.state].revoke !== undefined ? record.id : undefined;
}
