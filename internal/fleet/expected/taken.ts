import { conflict, retryOnConflict } from "../../base/retry-on-conflict.ts";
import { type Enrollment, liveStates } from "../enrollment/record/mod.ts";
import { type Enrollments, findByPeel, readEntry } from "../enrollment/store/mod.ts";
import { type ExpectedHost, encodeExpected } from "./record.ts";
import { type ExpectedStore, findExpected } from "./store.ts";

export interface TakeDeps extends ExpectedStore {
  enrollments: Enrollments;
}

/** How records name the one who decided: `expected:<operator>`. */
export const deciderOf = ({ by }: Pick<ExpectedHost, "by">): string => `expected:${by}`;

/**
 * The enrollment that an entry admitted, also one that has ended since. An entry that was taken without a record that
 * counts admitted no host: a master crashed in between, and the same host may ask again.
 */
async function usedBy(
  { enrollments }: Pick<TakeDeps, "enrollments">,
  host: ExpectedHost,
): Promise<Enrollment | undefined> {
  const current = (await findByPeel(enrollments, host.peelId))?.current?.record;
  // Another request of this host was first, or an operator decided on it after the entry was made.
  const isOfHost = current?.publicKey === host.publicKey && current.updatedAt >= host.at;
  if (current !== undefined && current.state !== "pending" && isOfHost) return current;
  if (host.takenBy === undefined || host.takenBy === current?.id) return undefined;
  const entry = await enrollments.get(host.takenBy);
  const named = entry === undefined ? undefined : readEntry(enrollments, entry)?.record;
  // A live record without an index is left over from a crash.
  return named === undefined || liveStates.has(named.state) ? undefined : named;
}

/**
 * Takes the entry of a host for an enrollment by compare-and-swap: of two masters one takes it.
 *
 * @returns `undefined` when it was used, has ended, or has another key
 */
export async function take(
  deps: TakeDeps,
  { peelId, publicKey, enrollment }: { peelId: string; publicKey: string; enrollment: string },
  now: number,
): Promise<ExpectedHost | undefined> {
  return retryOnConflict(
    async () => {
      const found = await findExpected(deps, peelId);
      if (found === undefined || !isOpen(found.host, publicKey, now)) return undefined;
      const { host, revision } = found;
      const user = await usedBy(deps, host);
      if (user !== undefined && user.id !== enrollment) return undefined;
      // The same enrollment again: another master is at work on it, has just decided, or crashed.
      if (user !== undefined || host.takenBy === enrollment) return host;
      const taken = { ...host, takenBy: enrollment, takenAt: now };
      const written = await deps.bucket.update(peelId, encodeExpected(deps.mac, taken), revision);
      return written === undefined ? conflict : taken;
    },
    { exhausted: "other requests are enrolling this peel_id: try again" },
  );
}

/**
 * Gives an entry back that this enrollment took and did not use. It stays taken when another request of the same
 * host used it meanwhile.
 */
export async function giveBack(deps: TakeDeps, peelId: string, enrollment: string): Promise<void> {
  await retryOnConflict(
    async () => {
      const found = await findExpected(deps, peelId);
      if (found?.host.takenBy !== enrollment) return undefined;
      const { takenBy: _, takenAt: __, ...host } = found.host;
      const user = await usedBy(deps, host);
      const next = user === undefined ? host : { ...found.host, takenBy: user.id };
      if (user?.id === enrollment) return undefined;
      const written = await deps.bucket.update(peelId, encodeExpected(deps.mac, next), found.revision);
      return written === undefined ? conflict : undefined;
    },
    { exhausted: "other requests are enrolling this peel_id: try again" },
  );
}

/** Whether an entry is valid for this key now. @param now milliseconds since the Unix epoch */
export function isOpen(host: ExpectedHost, publicKey: string, now: number): boolean {
  return host.endsAt > now && host.publicKey === publicKey;
}
