import { X509Certificate } from "node:crypto";
import { rfc3339 } from "../../base/clock.ts";
import { spkiPin, splitPem } from "./pin.ts";

/** What leads from the roots that someone trusts to another root. */
export type Lead =
  | { kind: "found" }
  /** Nothing does. */
  | { kind: "none" }
  /** It did, until a certificate on the way ended. */
  | { kind: "ended"; at: string };

/**
 * Whether a trusted root signed the key of this root, over as many roots in between as there are certificates. This is
 * what a TLS client checks when a server sends such certificates in its chain.
 *
 * @param trusted PEM of roots
 * @param root PEM of the root that would follow them
 * @param crossPem PEM of certificates that anyone may have sent
 */
export function leadTo(
  root: string,
  { trusted, crossPem, now }: { trusted: readonly string[]; crossPem: string; now: number },
): Lead {
  // A root has the name of the one that it follows. What an intermediate signed has not, and does not count: its key is
  // on every master, and must not name a root.
  const crosses = parsed(splitPem(crossPem).slice(0, maxCrosses)).filter(
    ({ certificate }) => certificate.subject === certificate.issuer,
  );
  /** Until when each certificate is trusted. */
  const until = new Map(parsed(trusted).map((anchor) => [anchor, anchor.until]));
  const trust = (cross: Parsed): boolean => {
    const issuers = [...until].filter(([issuer]) => issuer !== cross && isIssued(cross, issuer));
    const best = Math.min(cross.until, Math.max(...issuers.map(([, end]) => end)));
    if (issuers.length === 0 || best <= (until.get(cross) ?? Number.NEGATIVE_INFINITY)) return false;
    until.set(cross, best);
    return true;
  };
  // Each round trusts what is one step further away.
  for (let round = 0; round < crosses.length; round++) {
    if (crosses.filter(trust).length === 0) break;
  }
  const [target] = parsed([root]);
  const ends = crosses.flatMap((cross) => (cross.pin === target?.pin ? (until.get(cross) ?? []) : []));
  if (ends.length === 0) return { kind: "none" };
  const end = Math.max(...ends);
  return end > now ? { kind: "found" } : { kind: "ended", at: rfc3339(end) };
}

const maxCrosses = 8;

interface Parsed {
  certificate: X509Certificate;
  pin: string;
  until: number;
}

function parsed(pems: readonly string[]): Parsed[] {
  return pems.flatMap((pem) => {
    try {
      const certificate = new X509Certificate(pem);
      if (!certificate.ca) return [];
      return { certificate, pin: spkiPin(pem), until: Date.parse(certificate.validTo) };
    } catch {
      return [];
    }
  });
}

function isIssued({ certificate }: Parsed, issuer: Parsed): boolean {
  return certificate.checkIssued(issuer.certificate) && certificate.verify(issuer.certificate.publicKey);
}
