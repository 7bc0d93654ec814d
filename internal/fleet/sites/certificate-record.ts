import * as v from "valibot";
import { rfc3339 } from "../../base/clock.ts";
import { instant } from "../../base/instant.ts";
import { decode, encode } from "../../base/msgpack.ts";
import { isSiteName } from "../../base/site-name.ts";
import { isEqualMac, type RecordMac } from "../../identity/mod.ts";

/** The last certificate that masters issued for a site. Times are milliseconds since the Unix epoch. */
export interface SiteCertificate {
  site: string;
  /** Public key of its account: a site that was added again is another one. */
  account: string;
  /** SPKI pin of the root that it leads to. */
  root: string;
  issuedAt: number;
  notAfter: number;
  /** When the last ones were issued, this one among them. */
  recent: readonly number[];
}

const windowMs = 24 * 3_600_000;
/** A site needs one when it starts for the first time, then once in eight months, and two for a rotation. */
const mostInWindow = 12;

/** Whether a site got so many certificates in one day that it gets no further one now. */
export function hasTooMany(before: Pick<SiteCertificate, "recent"> | undefined, now: number): boolean {
  return (before?.recent ?? []).filter((at) => at > now - windowMs).length >= mostInWindow;
}

/** The times of the last certificates with one of now: as many as the limit counts. */
export function withRecent(
  before: Pick<SiteCertificate, "recent"> | undefined,
  now: number,
): readonly number[] {
  return [...(before?.recent ?? []), now].slice(-mostInWindow);
}

const suffix = ".certificate";
/** The key of this record in the bucket of sites. Names of sites have no dot. */
export const certificateKey = (site: string): string => `${site}${suffix}`;
/** The site whose certificate a key of the bucket is about; `undefined` for other keys. */
export function siteOfCertificateKey(key: string): string | undefined {
  const site = key.endsWith(suffix) ? key.slice(0, -suffix.length) : "";
  return isSiteName(site) ? site : undefined;
}

const text = v.pipe(v.string(), v.minLength(1), v.maxLength(200));
const stored = v.strictObject({
  v: v.literal(1),
  site: v.pipe(v.string(), v.check(isSiteName)),
  account: text,
  root: text,
  issued_at: instant,
  not_after: instant,
  recent: v.pipe(v.array(instant), v.maxLength(mostInWindow)),
  voucher: v.instance(Uint8Array),
});

/** The stored form, with the MAC of a master: who controls the bus cannot make one. */
export function encodeCertificate(mac: RecordMac, certificate: SiteCertificate): Uint8Array {
  const fields = fieldsOf(certificate);
  return encode({ ...fields, voucher: mac("site-certificate", Object.values(fields)) });
}

/**
 * Reads a stored certificate.
 *
 * @param site the site that its key names
 * @returns `undefined` when no master vouches for it under this key
 * @throws Error when it is malformed
 */
export function decodeCertificate(
  mac: RecordMac,
  site: string,
  value: Uint8Array,
): SiteCertificate | undefined {
  const { voucher, issued_at, not_after, v: _, ...same } = v.parse(stored, decode(value));
  const certificate = { ...same, issuedAt: issued_at, notAfter: not_after };
  const expected = mac("site-certificate", Object.values(fieldsOf(certificate)));
  return certificate.site === site && isEqualMac(expected, voucher) ? certificate : undefined;
}

/** Every field, in a fixed order. */
function fieldsOf({ site, account, root, issuedAt, notAfter, recent }: SiteCertificate) {
  return {
    v: 1,
    ...{ site, account, root },
    issued_at: rfc3339(issuedAt),
    not_after: rfc3339(notAfter),
    recent: recent.map(rfc3339),
  };
}
