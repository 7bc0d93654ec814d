import { dirname } from "node:path";
import { rfc3339 } from "../../base/clock.ts";
import { describeError } from "../../base/errors.ts";
import { readTextFile } from "../../base/files/file.ts";
import { watchDirectory } from "../../base/files/watch-directory.ts";
import { subscribe } from "../../base/subscribe.ts";
import { checkPair } from "../../identity/ca/mod.ts";
import type { CheckResult } from "../../program/health/mod.ts";
import type { CertificateOptions, CertificateSource, EnrollCertificate } from "./certificate-source.ts";

/** For file systems without change events, and for a directory that was itself replaced. */
const checkEveryMs = 60_000;
/** A pair has two files: after a change of one, this time passes before both are read. */
const settleMs = 200;

/**
 * The certificate in `enroll.tls_cert` and `enroll.tls_key`. Replaced files are used as soon as the two fit
 * together and are valid; until then the old pair is served, and one warning names the reason.
 *
 * @throws SvcError `bad_request` when the pair cannot be served at the start
 */
export async function createFileCertificate(options: CertificateOptions): Promise<CertificateSource> {
  const { config, clock, log, metrics } = options;
  const paths = { cert: config["enroll.tls_cert"], key: config["enroll.tls_key"] };
  const listeners = new Set<(certificate: EnrollCertificate) => void>();

  const read = (): EnrollCertificate => {
    const pair = {
      cert: readTextFile(paths.cert, "enroll.tls_cert"),
      key: readTextFile(paths.key, "enroll.tls_key"),
    };
    const names = { cert: `enroll.tls_cert ${paths.cert}`, key: `enroll.tls_key ${paths.key}` };
    return { ...pair, notAfter: checkPair(pair, names, clock.now()).notAfter };
  };
  let current = read();
  metrics.certificateNotAfter("enroll", current.notAfter);

  let refused = "";
  const check = () => {
    let next: EnrollCertificate;
    try {
      next = read();
    } catch (cause) {
      const reason = describeError(cause);
      if (reason === refused) return;
      refused = reason;
      metrics.certificateRenewal("failed");
      log.warn("enrollment certificate not replaced", {
        error: reason,
        served_until: rfc3339(current.notAfter),
      });
      return;
    }
    refused = "";
    if (next.cert === current.cert && next.key === current.key) return;
    current = next;
    metrics.certificateNotAfter("enroll", current.notAfter);
    metrics.certificateRenewal("ok");
    log.info("enrollment certificate replaced", { not_after: rfc3339(current.notAfter) });
    for (const run of listeners) run(current);
  };

  // The directory, not the file: what replaces a file, or a link on the way to it, is another one.
  const watches = [...new Set([dirname(paths.cert), dirname(paths.key)])].map((directory) =>
    watchDirectory(directory, {
      onChange: check,
      settleMs,
      rescanMs: checkEveryMs,
      recursive: false,
      onUnwatched: (error) =>
        log.warn("replaced certificates are noticed within a minute only", { directory, error }),
      clock,
      log,
    }),
  );
  return {
    current: () => current,
    check: { name: "certificate", run: () => judge(current.notAfter, { ...paths, refused }, clock.now()) },
    onChange: (run) => subscribe(listeners, run),
    stop() {
      for (const watching of watches) watching.stop();
    },
  };
}

/** @param files.refused why the files that lie there now are not served; empty where they are */
function judge(
  notAfter: number,
  { cert, key, refused }: { cert: string; key: string; refused: string },
  now: number,
): CheckResult {
  if (notAfter > now) return { status: "up" };
  const reason = refused === "" ? "" : `; what lies there now is not served: ${refused}`;
  return {
    status: "down",
    message: `the certificate of the HTTPS listener expired at ${rfc3339(notAfter)}${reason}`,
    next: `replace ${cert} and ${key}: this master serves them within a minute`,
  };
}
