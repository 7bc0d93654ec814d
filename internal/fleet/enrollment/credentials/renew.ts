import { SvcError } from "../../../base/errors.ts";
import type { Log } from "../../../base/log.ts";
import { conflict, retryOnConflict } from "../../../base/retry-on-conflict.ts";
import type { Reconciler } from "../../../bus/servers/mod.ts";
import type { RekeyRequest, RenewalRequest } from "../../../wire/renewal.ts";
import { type MintDeps, mint } from "../bus-user/mod.ts";
import { type BusKey, type Enrollment, type EnrollmentEvent, transition, withBusKey } from "../record/mod.ts";
import { type Revocations, reportClone, revocationOf, type SuspectCloneDeps } from "../revocation/mod.ts";
import { type Directory, type Enrollments, loadEnrollment, saveEnrollment } from "../store/mod.ts";
import { decideRekey, decideRenewal, type RenewalVerdict } from "./decide-renewal.ts";

export interface IssueAgainDeps extends MintDeps {
  enrollments: Enrollments;
  directory: Pick<Directory, "holderOf">;
  revocations: Pick<Revocations, "add">;
  enforcer: Pick<Reconciler, "enforce">;
  log: Log;
}

export type RenewDeps = IssueAgainDeps & SuspectCloneDeps;

/** Credentials of a bus key that the peel made. */
export interface Renewed {
  verdict: Exclude<RenewalVerdict, "clone">;
  record: Enrollment;
  jwt: string;
  /** Milliseconds since the Unix epoch. */
  expiresAt: number;
}

/**
 * Renews the credentials of a peel: load, decide, compare-and-swap. A request of a second holder of the identity
 * marks the record.
 *
 * @param peelId who sent the request, by its subject
 * @throws SvcError `not_found`, `forbidden`, `unauthorized`, `bad_request`, `rate_limited`, `conflict`,
 *   `unavailable`
 */
export async function renew(
  deps: RenewDeps,
  peelId: string,
  request: RenewalRequest,
): Promise<Renewed | { verdict: "clone" }> {
  const attempt = async () => {
    const { record, revision } = await loadEnrollment(deps.enrollments, request.enrollmentId);
    const context = { peelId, validityMs: deps.validityMs, now: deps.clock.now() };
    const verdict = decideRenewal(record, request, context);
    if (verdict === "clone") return { verdict } as const;
    if (verdict === "repeat") return repeated(deps, record);
    return issueAgain(deps, { record, revision }, request.busPublicKey, (key) => ({ type: "renew", key }));
  };
  const renewed = await retryOnConflict(attempt, {
    exhausted: `other requests are changing the enrollment ${request.enrollmentId}: try again`,
  });
  if (renewed.verdict === "clone") {
    await reportClone(deps, request.enrollmentId);
    return renewed;
  }
  if (renewed.verdict === "change") {
    deps.log.info("enrollment.credential.renewed", {
      enrollment_id: renewed.record.id,
      peel_id: peelId,
      renewals: renewed.record.renewals,
    });
  }
  return renewed;
}

/**
 * Gives a peel new keys, and credentials with them.
 *
 * @throws SvcError as `renew`; `unavailable` when the record was changed meanwhile
 */
export async function rekey(deps: IssueAgainDeps, peelId: string, request: RekeyRequest): Promise<Renewed> {
  const loaded = await loadEnrollment(deps.enrollments, request.enrollmentId);
  const context = { peelId, validityMs: deps.validityMs, now: deps.clock.now() };
  if (decideRekey(loaded.record, request, context) === "repeat") return repeated(deps, loaded.record);
  const { publicKey, curvePublicKey, busPublicKey, signedAt, signatureNew: signature } = request;
  const proof = { busPublicKey, signedAt, signature };
  const event = (key: BusKey) => ({ type: "rekey" as const, key, publicKey, curvePublicKey, proof });
  const rekeyed = await issueAgain(deps, loaded, busPublicKey, event);
  if (rekeyed === conflict) {
    // Another master may have answered the same request.
    const { record } = await loadEnrollment(deps.enrollments, request.enrollmentId);
    if (record.publicKey === publicKey && record.busPublicKey === busPublicKey) return repeated(deps, record);
    throw new SvcError("unavailable", "other requests are changing this enrollment: try again");
  }
  deps.log.info("enrollment.rekeyed", { enrollment_id: rekeyed.record.id, peel_id: peelId });
  return rekeyed;
}

/** Mints credentials, and stores their key by compare-and-swap. What the record has no room for is revoked first. */
export async function issueAgain(
  deps: IssueAgainDeps,
  { record, revision }: { record: Enrollment; revision: number },
  busPublicKey: string,
  eventOf: (key: BusKey) => EnrollmentEvent & { key: BusKey; revokePrevious?: boolean },
): Promise<Renewed | typeof conflict> {
  const now = deps.clock.now();
  const holder = deps.directory.holderOf(busPublicKey);
  // Its end would end the connection of the other.
  if (holder !== undefined && holder !== record.id) {
    throw new SvcError("bad_request", "bus_public_key is a key of another peel");
  }
  const { jwt, expiresAt } = mint(deps, record, busPublicKey);
  const event = eventOf({ publicKey: busPublicKey, expiresAt });
  const next = transition(record, event, now);
  const { revoked } = withBusKey(record, event.key, { now, revokePrevious: event.revokePrevious === true });
  for (const key of revoked) await deps.revocations.add(revocationOf(record, key, now));
  const saved = await saveEnrollment(deps.enrollments, next, revision);
  if (revoked.length > 0) {
    await deps.enforcer.enforce().catch(() => {
      // The enforcer reports it, and tries again.
    });
  }
  return saved === undefined ? conflict : { verdict: "change", record: saved.record, jwt, expiresAt };
}

/** The credentials of the current key again. */
function repeated(deps: MintDeps, record: Enrollment): Renewed {
  const { busPublicKey = "", credsExpiresAt } = record;
  return { verdict: "repeat", record, ...mint(deps, record, busPublicKey, credsExpiresAt) };
}
