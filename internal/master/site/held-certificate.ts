import { X509Certificate } from "node:crypto";
import { attempt } from "../../base/errors.ts";
import { isKeyOf, namesOfLeaf, nextRenewal } from "../../identity/ca/mod.ts";
import { spkiPin, splitPem } from "../../identity/trust/mod.ts";

/** The subject of what masters issue for a site; what a command issued has another one. */
const madeForSite = "CN=svc-site";

/** The certificate of a bus server, as its files have it. Times are milliseconds since the Unix epoch. */
export interface HeldCertificate {
  /** When it is valid. */
  from: number;
  until: number;
  /** DNS names and IP addresses. */
  names: readonly string[];
  /** Whether masters issued it for a key that was made here. */
  isOwn: boolean;
  /** Whether the key is that of the certificate. */
  fits: boolean;
  /** Whether a root signed the authority in its chain. @param root PEM */
  leadsTo(root: string): boolean;
  /** Whether the CA of this root issued it, or one before or after it: they have one name. @param root PEM */
  isOfFleet(root: string): boolean;
}

/**
 * Reads a certificate.
 *
 * @param certPem the chain, the leaf first
 * @returns `undefined` for a text without a certificate
 */
export function readHeldCertificate(
  certPem: string | undefined,
  keyPem: string | undefined,
): HeldCertificate | undefined {
  const [leaf, intermediate] = splitPem(certPem ?? "").map(parse);
  if (leaf === undefined) return undefined;
  return {
    from: Date.parse(leaf.validFrom),
    until: Date.parse(leaf.validTo),
    names: namesOfLeaf(leaf),
    isOwn: leaf.subject === madeForSite,
    fits: isKeyOf(leaf, keyPem ?? ""),
    isOfFleet: (root) => intermediate !== undefined && intermediate.issuer === parse(root)?.subject,
    leadsTo(root) {
      const issuer = parse(root);
      if (issuer === undefined || intermediate === undefined) return false;
      return (
        intermediate.ca &&
        leaf.checkIssued(intermediate) &&
        leaf.verify(intermediate.publicKey) &&
        intermediate.checkIssued(issuer) &&
        intermediate.verify(issuer.publicKey)
      );
    },
  };
}

/** Why a site asks for another certificate. */
export type Cause = "cannot be used" | "was made elsewhere" | "was issued by another root" | "ends";

/**
 * Decides whether a site asks for another certificate. One of another CA is not touched.
 *
 * @param roots PEM of the roots that this site trusts
 * @param issuing pin of the root that masters issue from
 * @param jitter in [0, 1)
 * @returns why; `undefined` when it stays
 */
export function causeToRenew(
  held: HeldCertificate | undefined,
  {
    roots,
    issuing,
    now,
    jitter,
  }: { roots: readonly string[]; issuing: string | undefined; now: number; jitter: number },
): Cause | undefined {
  if (held === undefined || !held.fits) return "cannot be used";
  if (!held.isOwn) return roots.some(held.isOfFleet) ? "was made elsewhere" : undefined;
  const wanted = roots.find((root) => spkiPin(root) === issuing);
  if (wanted !== undefined && !held.leadsTo(wanted)) return "was issued by another root";
  return nextRenewal(held.from, held.until, now, jitter) === 0 ? "ends" : undefined;
}

function parse(pem: string): X509Certificate | undefined {
  return attempt(() => new X509Certificate(pem));
}
