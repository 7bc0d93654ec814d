import { X509Certificate } from "node:crypto";
import { type Clock, rfc3339 } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";
import type { Random } from "../../base/id.ts";
import { parseNames } from "../../base/names/subject-name.ts";
import { newSerial } from "./build.ts";
import { newSigningKey } from "./key.ts";
import { buildLeafCertificate, type LeafUsage } from "./leaf.ts";
import type { Authority } from "./load.ts";
import { validityFrom } from "./validity.ts";

export interface IssueOptions {
  commonName: string;
  /** DNS names and IP addresses of the certificate, at least one. */
  names: readonly string[];
  usage: LeafUsage;
  validityMs: number;
  clock: Clock;
  random: Random;
}

export interface IssuedCertificate {
  /** PEM of the leaf, then of the intermediate, and what crosses to the root before: the chain of a server. */
  certPem: string;
  /** PEM of the private key. Secret. */
  keyPem: string;
  /** Milliseconds since the Unix epoch. */
  notBefore: number;
  notAfter: number;
  /** Whether it ends earlier than requested, because the intermediate does. */
  clamped: boolean;
}

/**
 * Issues a server certificate for a new key. It never outlives the intermediate that signs it.
 *
 * @throws SvcError `bad_request` for a bad name or validity, or when the intermediate has expired
 */
export async function issueCertificate(
  authority: Authority,
  options: IssueOptions,
): Promise<IssuedCertificate> {
  const { keys, pem: keyPem } = await newSigningKey();
  return { ...(await certifyKey(authority, keys.publicKey, options)), keyPem };
}

/**
 * Issues a server certificate for a key whose private half is elsewhere.
 *
 * @throws SvcError as `issueCertificate`
 */
export async function certifyKey(
  authority: Authority,
  publicKey: CryptoKey,
  { commonName, names, usage, validityMs, clock, random }: IssueOptions,
): Promise<Omit<IssuedCertificate, "keyPem">> {
  const subjectNames = parseNames(names);
  if (subjectNames.length === 0) {
    throw new SvcError("bad_request", "a certificate needs at least one DNS name or IP address");
  }
  if (validityMs < 1000) throw new SvcError("bad_request", "a certificate must be valid for at least 1s");
  const now = clock.now();
  const intermediate = new X509Certificate(authority.intermediatePem);
  const within = {
    notBefore: Date.parse(intermediate.validFrom),
    notAfter: Date.parse(intermediate.validTo),
  };
  if (within.notAfter <= now) {
    throw new SvcError(
      "bad_request",
      `intermediate.crt expired at ${rfc3339(within.notAfter)}: renew it with svc ca renew-intermediate`,
    );
  }
  const validity = validityFrom(now, validityMs, within);
  const leaf = await buildLeafCertificate(
    {
      commonName,
      publicKey,
      serial: newSerial(random),
      validity,
      names: subjectNames,
      usage,
    },
    { certificate: intermediate, key: authority.signingKey },
  );
  return {
    certPem: leaf + authority.intermediatePem + (authority.crossPem ?? ""),
    ...validity,
    clamped: validity.notAfter < validityFrom(now, validityMs).notAfter,
  };
}
