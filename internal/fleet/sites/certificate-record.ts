import { isSiteName } from "../../base/names/site-name.ts";
import { type RecordOf, record } from "../../base/record.ts";
import { list, text, textOf, time } from "../../base/record-kinds.ts";
import { vouched } from "../../identity/mod.ts";

const windowMs = 24 * 3_600_000;
/** A site needs one when it starts for the first time, then once in eight months, and two for a rotation. */
const maxInWindow = 12;

const fields = {
  site: textOf(isSiteName, "the name of a site"),
  /** Public key of its account: a site that was added again is another one. */
  account: text(200),
  /** SPKI pin of the root that it leads to. */
  root: text(200),
  issuedAt: ["issued_at", time],
  notAfter: ["not_after", time],
  /** When the last ones were issued, this one among them. */
  recent: list(time, maxInWindow),
} as const;

/** The last certificate that masters issued for a site. Times are milliseconds since the Unix epoch. */
export type SiteCertificate = RecordOf<typeof fields>;

export const { encode: encodeCertificate, decode: decodeCertificate } = vouched(
  record("certificate", fields, { version: 1 }),
  { kind: "site-certificate", keyOf: ({ site }) => site },
);

/** Whether a site has used up its certificates of one day. */
export function hasTooMany(before: Pick<SiteCertificate, "recent"> | undefined, now: number): boolean {
  return (before?.recent ?? []).filter((at) => at > now - windowMs).length >= maxInWindow;
}

/** The times of the last certificates, including one now: as many as the limit needs. */
export function withRecent(
  before: Pick<SiteCertificate, "recent"> | undefined,
  now: number,
): readonly number[] {
  return [...(before?.recent ?? []), now].slice(-maxInWindow);
}

const suffix = ".certificate";
/** The key of this record in the bucket of sites. Names of sites have no dot. */
export const certificateKey = (site: string): string => `${site}${suffix}`;
/** The site whose certificate a key of the bucket is about; `undefined` for other keys. */
export function siteOfCertificateKey(key: string): string | undefined {
  const site = key.endsWith(suffix) ? key.slice(0, -suffix.length) : "";
  return isSiteName(site) ? site : undefined;
}
