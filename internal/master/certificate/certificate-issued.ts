import { type Backoff, createBackoff } from "../../base/backoff.ts";
import { rfc3339, type Timer } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { describeError, SvcError } from "../../base/errors.ts";
import { watchDirectory } from "../../base/files/watch-directory.ts";
import { subscribe } from "../../base/subscribe.ts";
import {
  type AuthorityInForce,
  authorityStamp,
  describeCertificate,
  issueCertificate,
  loadInForce,
  nextRenewal,
  remainingLife,
} from "../../identity/ca/mod.ts";
import type { CheckResult } from "../../program/health/mod.ts";
import type { CertificateOptions, CertificateSource, EnrollCertificate } from "./certificate-source.ts";
import { isIntermediateDue, renewIntermediate } from "./renew-intermediate.ts";

/**
 * The longest wait: timers of the runtime are limited to 24.8 days, and a changed clock is only noticed by a check.
 */
const checkEveryMs = 60 * 60 * 1000;
const retries = { firstMs: 1_000, maxMs: 5 * 60_000 };

/** A copy of a CA has several files: this time passes without a change before they are read. */
const settleMs = 500;

/** A certificate and the authority that issued it. */
interface Issued extends EnrollCertificate {
  /** When it was first used, milliseconds since the Unix epoch. */
  from: number;
  rootPem: string;
  intermediatePem: string;
  /** Of the CA directory, read before it was used. */
  stamp: string | undefined;
  inForce: AuthorityInForce;
}

/** The certificate in use, and when the next one is due. */
interface Serving extends CertificateOptions {
  readonly dir: string;
  readonly listeners: Set<(certificate: EnrollCertificate) => void>;
  readonly backoff: Backoff;
  issued: Issued;
  renewAt: number;
  /** What the last attempt came to, when it failed. */
  failed: { error: string; retryInMs: number } | undefined;
  /** Why the intermediate was not issued again, as it was logged. */
  intermediateFailure: string | undefined;
  timer: Timer;
  renewing: boolean;
  stopped: boolean;
}

/**
 * The certificate that the embedded CA issues: at the start, and again in memory at about two thirds of
 * its life, or within a minute when the files of the CA were replaced. While issuing fails the old one
 * is served, with a warning at each attempt.
 *
 * @throws SvcError `bad_request` when the CA cannot issue at the start
 */
export async function createIssuedCertificate(options: CertificateOptions): Promise<CertificateSource> {
  const { config, clock, log } = options;
  const dir = config["ca.dir"];
  const issued = await issue(options, { lenient: true });
  const { problem } = issued.inForce;
  if (problem !== undefined) {
    log.warn("the next root does not count yet", { error: problem, next: "copy the whole CA directory" });
  }
  const serving: Serving = {
    ...{ ...options, dir, listeners: new Set(), backoff: createBackoff(retries), issued },
    renewAt: renewalTime(options, issued),
    ...{ failed: undefined, intermediateFailure: undefined, timer: { cancel() {} } },
    ...{ renewing: false, stopped: false },
  };
  announce(serving);
  wait(serving);
  const watching = watchDirectory(dir, {
    onChange() {
      if (serving.renewing || serving.stopped || !isReplaced(serving)) return;
      serving.timer.cancel();
      wake(serving);
    },
    settleMs,
    untilQuiet: true,
    onUnwatched: (error) =>
      log.warn("a replaced CA is noticed within a minute only", { directory: dir, error }),
    clock,
    log,
  });
  const { listeners } = serving;
  return {
    current: () => serving.issued,
    onChange: (run) => subscribe(listeners, run),
    check: { name: "ca", run: () => judgeIssued(serving) },
    stop() {
      serving.stopped = true;
      serving.timer.cancel();
      watching.stop();
    },
  };
}

/** The time at which a certificate must be renewed. */
function renewalTime({ clock, random }: CertificateOptions, { from, notAfter }: Issued): number {
  const jitter = Buffer.from(random(2)).readUInt16BE() / 65_536;
  return clock.now() + nextRenewal(from, notAfter, clock.now(), jitter);
}

function announce({ issued, metrics, log }: Serving): void {
  metrics.certificateNotAfter("enroll", issued.notAfter);
  metrics.certificateNotAfter("intermediate", describeCertificate(issued.intermediatePem).notAfter);
  metrics.certificateNotAfter("root", describeCertificate(issued.rootPem).notAfter);
  log.info("enrollment certificate issued", { not_after: rfc3339(issued.notAfter) });
}

function judgeIssued({ issued, failed, clock }: Serving): CheckResult {
  const left = remainingLife(issued.from, issued.notAfter, clock.now());
  const reason = failed === undefined ? "" : `: ${failed.error}`;
  const end = rfc3339(issued.notAfter);
  if (left === 0) return { status: "down", message: `the enrollment certificate expired at ${end}${reason}` };
  if (left >= 1 / 3) return { status: "up" };
  return { status: "degraded", message: `the enrollment certificate ends at ${end}${reason}` };
}

/** Whether the certificate is due, or another authority is there. */
const isDue = (serving: Serving): boolean =>
  serving.failed !== undefined || serving.clock.now() >= serving.renewAt || isReplaced(serving);

const isAuthorityDue = ({ issued, clock }: Serving): boolean =>
  isIntermediateDue(issued.inForce, clock.now());

function wait(serving: Serving): void {
  const { failed, renewAt, clock } = serving;
  const untilDueMs = Math.min(checkEveryMs, Math.max(0, renewAt - clock.now()));
  serving.timer = clock.after(failed?.retryInMs ?? untilDueMs, () => wake(serving));
}

function wake(serving: Serving) {
  if (!isDue(serving) && !isAuthorityDue(serving)) return wait(serving);
  serving.renewing = true;
  renewBoth(serving)
    .catch((cause) => fail(serving, cause))
    .finally(() => {
      serving.renewing = false;
      if (!serving.stopped) wait(serving);
    });
}

async function renewBoth(serving: Serving): Promise<void> {
  const onFailure = (reason: string) => warnOfIntermediate(serving, reason);
  if (isAuthorityDue(serving)) await renewIntermediate({ ...serving, onFailure });
  // An intermediate that was written is another authority.
  if (isDue(serving)) await renew(serving);
}

function warnOfIntermediate(serving: Serving, reason: string): void {
  if (reason === serving.intermediateFailure) return;
  serving.intermediateFailure = reason;
  serving.log.warn("the intermediate of the CA was not issued again", {
    error: reason,
    next: "run svc ca renew-intermediate, and copy intermediate.crt to the masters",
  });
}

async function renew(serving: Serving): Promise<void> {
  const next = await issue(serving, { lenient: false });
  if (serving.stopped) return;
  const { issued, metrics, log } = serving;
  assertBetter(next, issued);
  if (next.rotation?.phase !== issued.rotation?.phase) {
    log.info("the rotation of the root changed", {
      phase: next.rotation?.phase ?? "none",
      current: next.root?.pin,
      next: next.rotation?.next.pin,
    });
  } else if (next.root?.pin !== issued.root?.pin) {
    log.warn("the root of the CA was replaced", { old: issued.root?.pin, new: next.root?.pin });
  }
  serving.issued = next;
  serving.renewAt = renewalTime(serving, next);
  serving.failed = undefined;
  serving.backoff.reset();
  metrics.certificateRenewal("ok");
  announce(serving);
  for (const run of serving.listeners) run(next);
}

/** @throws SvcError `unavailable` for one of the same authority that does not last longer */
function assertBetter(next: Issued, issued: Issued): void {
  const sameAuthority =
    next.rootPem === issued.rootPem &&
    next.intermediatePem === issued.intermediatePem &&
    next.rotation?.phase === issued.rotation?.phase;
  if (!sameAuthority || next.notAfter > issued.notAfter) return;
  throw new SvcError(
    "unavailable",
    "the certificate ends with the intermediate: renew that with svc ca renew-intermediate",
  );
}

function fail(serving: Serving, cause: unknown): void {
  const failed = { error: describeError(cause), retryInMs: serving.backoff.next() };
  serving.failed = failed;
  serving.metrics.certificateRenewal("failed");
  serving.log.warn("enrollment certificate not renewed", {
    error: failed.error,
    served_until: rfc3339(serving.issued.notAfter),
    retry_in_ms: failed.retryInMs,
  });
}

async function issue(
  { config, hostname, clock, random }: CertificateOptions,
  how: { lenient: boolean },
): Promise<Issued> {
  const dir = config["ca.dir"];
  // Read first: what changes from here on is noticed by the next check.
  const stamp = authorityStamp(dir);
  const inForce = await loadInForce(dir, how);
  const { authority, root, rotation } = inForce;
  const from = clock.now();
  const leaf = await issueCertificate(authority, {
    commonName: "svc-master",
    names: [hostname, "localhost", ...config["ca.enroll_sans"]],
    usage: "enroll",
    validityMs: config["ca.enroll_cert_validity"],
    clock,
    random,
  });
  return {
    cert: leaf.certPem,
    key: leaf.keyPem,
    from,
    notAfter: leaf.notAfter,
    root,
    ...defined({ rotation }),
    rootPem: authority.rootPem,
    intermediatePem: authority.intermediatePem,
    stamp,
    inForce,
  };
}

/**
 * Whether the CA directory holds something else than at the issue; files that are missing for a moment do not count.
 */
function isReplaced({ dir, issued: { stamp } }: Serving): boolean {
  const found = authorityStamp(dir);
  return found !== undefined && found !== stamp;
}
