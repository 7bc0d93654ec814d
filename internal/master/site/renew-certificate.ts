import { sign } from "node:crypto";
import type { MasterClient } from "../../agent/joining/mod.ts";
import type { Roots } from "../../agent/trust/mod.ts";
import { encodeBase64 } from "../../base/base64.ts";
import { type Clock, rfc3339 } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { certificateMessage } from "../../fleet/sites/mod.ts";
import type { KeyPair } from "../../identity/mod.ts";
import { type certificateFiles, loadNextKey, replaceFiles } from "./certificate-files.ts";
import { type HeldCertificate, readHeldCertificate } from "./held-certificate.ts";

/** A site, and how it reaches its masters. */
export interface Site {
  /** Its name. */
  readonly site: string;
  readonly files: ReturnType<typeof certificateFiles>;
  readonly linkKey: KeyPair;
  readonly masters: MasterClient;
  readonly attempts: number;
  readonly roots: Roots;
  readonly clock: Clock;
  readonly log: Log;
}

/**
 * Gets a certificate for a key that the site makes, and puts both in place.
 *
 * @throws Refused, SvcError `unauthorized`, and what a request throws
 */
export async function renewCertificate(
  { site, files, linkKey, masters, attempts, roots, clock, log }: Site,
  before: HeldCertificate | undefined,
): Promise<void> {
  const key = loadNextKey(files);
  const answer = await masters.request("POST", `/api/v1/sites/${site}/certificate`, {
    attempts,
    body: () => {
      const signedAt = rfc3339(clock.now());
      const message = certificateMessage({ site, publicKey: key.publicKey, signedAt });
      const proof = sign("sha256", message, { key: key.privateKey, dsaEncoding: "ieee-p1363" });
      return {
        public_key: encodeBase64(key.publicKey),
        signed_at: signedAt,
        signature: encodeBase64(linkKey.sign(message)),
        proof: encodeBase64(proof),
      };
    },
  });
  const { certificate, error } = answer.body;
  if (answer.status !== 200 || typeof certificate !== "string") {
    throw refusal(answer.status, typeof error === "string" ? error.slice(0, 300) : "");
  }
  const next = readHeldCertificate(certificate, key.pem);
  assertUsable(next, before, { roots: roots.counting(), now: clock.now() });
  replaceFiles(files, certificate);
  log.info("the certificate of the bus was renewed", { not_after: rfc3339(next.until) });
}

/** Masters refuse the request, and would a moment later as well. */
export class Refused extends SvcError {}

function refusal(status: number, error: string): SvcError {
  const reported = `masters refuse a certificate (status ${status})${error === "" ? "" : `: ${error}`}`;
  switch (status) {
    case 401:
      // Such as for a clock that is wrong.
      return new SvcError("unauthorized", reported);
    default:
      return new Refused("unavailable", reported);
  }
}

/** @throws Refused for a certificate that cannot be used here */
function assertUsable(
  next: HeldCertificate | undefined,
  before: HeldCertificate | undefined,
  { roots, now }: { roots: readonly string[]; now: number },
): asserts next is HeldCertificate {
  if (next === undefined || !next.fits || next.until <= now || !roots.some(next.leadsTo)) {
    throw new Refused("unavailable", "masters sent a certificate that cannot be used here");
  }
  if (before === undefined || before.until <= now) return;
  const lost = before.names.filter((name) => !next.names.includes(name));
  if (lost.length > 0) {
    throw new Refused(
      "conflict",
      `masters know this site without ${lost.join(", ")}, which the certificate here has: issue it with svc ca issue nats-server, or add the site again with that name`,
    );
  }
  if (before.fits && before.isOwn && roots.some(before.leadsTo) && next.until <= before.until) {
    throw new Refused(
      "unavailable",
      "the certificate of the masters ends with their intermediate: renew that with svc ca renew-intermediate",
    );
  }
}
