import { createBackoff } from "../../base/backoff.ts";
import { rfc3339 } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { describeError, SvcError } from "../../base/errors.ts";
import { watchDirectory } from "../../base/files/watch-directory.ts";
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

/** The longest wait: timers of the runtime are limited to 24.8 days, and a changed clock is only noticed by a check. */
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

/**
 * The certificate that the embedded CA issues: at the start, and again in memory at about two thirds of
 * its life, or within a minute when the files of the CA were replaced. While issuing fails the old one
 * is served, with a warning at each attempt.
 *
 * @throws SvcError `bad_request` when the CA cannot issue at the start
 */
export async function createIssuedCertificate(options: CertificateOptions): Promise<CertificateSource> {
  const { config, clock, random, log, metrics } = options;
  const dir = config["ca.dir"];
  const listeners = new Set<(certificate: EnrollCertificate) => void>();
  let stopped = false;
  const backoff = createBackoff(retries);
  /** What the last attempt came to, when it failed. */
  let failed: { error: string; retryInMs: number } | undefined;

  /** Why the intermediate was not issued again, as it was logged. */
  let intermediateFailure: string | undefined;

  let issued = await issue(options, { lenient: true });
  const { problem } = issued.inForce;
  if (problem !== undefined) {
    log.warn("the next root does not count yet", { error: problem, next: "copy the whole CA directory" });
  }
  let renewAt = renewalTime();
  announce();
  let timer = clock.after(pause(), wake);
  let renewing = false;
  const watching = watchDirectory(dir, {
    onChange() {
      if (renewing || stopped || !isReplaced(dir, issued)) return;
      timer.cancel();
      wake();
    },
    settleMs,
    untilQuiet: true,
    onUnwatched: (error) =>
      log.warn("a replaced CA is noticed within a minute only", { directory: dir, error }),
    clock,
    log,
  });

  /** The time at which this certificate must be renewed. */
  function renewalTime(): number {
    const jitter = Buffer.from(random(2)).readUInt16BE() / 65_536;
    return clock.now() + nextRenewal(issued.from, issued.notAfter, clock.now(), jitter);
  }
  function pause(): number {
    if (failed !== undefined) return failed.retryInMs;
    return Math.min(checkEveryMs, Math.max(0, renewAt - clock.now()));
  }
  function announce(): void {
    metrics.certificateNotAfter("enroll", issued.notAfter);
    metrics.certificateNotAfter("intermediate", describeCertificate(issued.intermediatePem).notAfter);
    metrics.certificateNotAfter("root", describeCertificate(issued.rootPem).notAfter);
    log.info("enrollment certificate issued", { not_after: rfc3339(issued.notAfter) });
  }
  /** Whether the certificate is due, or another authority is there. */
  const isDue = () => failed !== undefined || clock.now() >= renewAt || isReplaced(dir, issued);
  const isAuthorityDue = () => isIntermediateDue(issued.inForce, clock.now());
  function wake(): void {
    if (!isDue() && !isAuthorityDue()) {
      timer = clock.after(pause(), wake);
      return;
    }
    renewing = true;
    renewBoth()
      .catch(fail)
      .finally(() => {
        renewing = false;
        if (!stopped) timer = clock.after(pause(), wake);
      });
  }
  async function renewBoth(): Promise<void> {
    if (isAuthorityDue()) await renewIntermediate({ ...options, dir, onFailure: warnOfIntermediate });
    // An intermediate that was written is another authority.
    if (isDue()) await renew();
  }
  function warnOfIntermediate(reason: string): void {
    if (reason === intermediateFailure) return;
    intermediateFailure = reason;
    log.warn("the intermediate of the CA was not issued again", {
      error: reason,
      next: "run svc ca renew-intermediate, and copy intermediate.crt to the masters",
    });
  }
  async function renew(): Promise<void> {
    const next = await issue(options, { lenient: false });
    if (stopped) return;
    const sameAuthority =
      next.rootPem === issued.rootPem &&
      next.intermediatePem === issued.intermediatePem &&
      next.rotation?.phase === issued.rotation?.phase;
    if (sameAuthority && next.notAfter <= issued.notAfter) {
      throw new SvcError(
        "unavailable",
        "the certificate ends with the intermediate: renew that with svc ca renew-intermediate",
      );
    }
    if (next.rotation?.phase !== issued.rotation?.phase) {
      log.info("the rotation of the root changed", {
        phase: next.rotation?.phase ?? "none",
        current: next.root?.pin,
        next: next.rotation?.next.pin,
      });
    } else if (next.root?.pin !== issued.root?.pin) {
      log.warn("the root of the CA was replaced", { old: issued.root?.pin, new: next.root?.pin });
    }
    issued = next;
    renewAt = renewalTime();
    failed = undefined;
    backoff.reset();
    metrics.certificateRenewal("ok");
    announce();
    for (const run of listeners) run(issued);
  }
  function fail(cause: unknown): void {
    failed = { error: describeError(cause), retryInMs: backoff.next() };
    metrics.certificateRenewal("failed");
    log.warn("enrollment certificate not renewed", {
      error: failed.error,
      served_until: rfc3339(issued.notAfter),
      retry_in_ms: failed.retryInMs,
    });
  }
  return {
    current: () => issued,
    onChange(run) {
      listeners.add(run);
      return () => listeners.delete(run);
    },
    check(): CheckResult {
      const left = remainingLife(issued.from, issued.notAfter, clock.now());
      const reason = failed === undefined ? "" : `: ${failed.error}`;
      const end = rfc3339(issued.notAfter);
      if (left === 0)
        return { status: "down", message: `the enrollment certificate expired at ${end}${reason}` };
      if (left >= 1 / 3) return { status: "up" };
      return { status: "degraded", message: `the enrollment certificate ends at ${end}${reason}` };
    },
    stop() {
      stopped = true;
      timer.cancel();
      watching.stop();
    },
  };
}

async function issue(
  { config, hostname, clock, random }: CertificateOptions,
  how: { lenient: boolean },
): Promise<Issued> {
  const dir = config["ca.dir"];
  // Read first: what changes from here on is noticed by the next look.
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

/** Whether the CA directory holds something else than at the issue; files that are missing for a moment do not count. */
function isReplaced(dir: string, { stamp }: Issued): boolean {
  const found = authorityStamp(dir);
  return found !== undefined && found !== stamp;
}
