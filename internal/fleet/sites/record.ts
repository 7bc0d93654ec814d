import * as v from "valibot";
import { rfc3339 } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { instant } from "../../base/instant.ts";
import { decode, encode } from "../../base/msgpack.ts";
import { isSiteName } from "../../base/site-name.ts";
import { isEqualMac, type RecordMac } from "../../identity/mod.ts";

/** A site that was there before under the same name: its keys never count again. */
export interface FormerSite {
  /** Public key of its account. */
  account: string;
  /** Public key of its user of the system account. */
  system: string;
}

/** A site: a server of the bus that stands with its peels. Times are milliseconds since the Unix epoch. */
export interface SiteRecord {
  /** Also its key in the bucket. */
  name: string;
  /** Where its peels connect. */
  urls: readonly string[];
  /** Public key of its account. */
  account: string;
  /** Public keys with which its server connects. */
  users: { link: string; system: string };
  /** Public key that signed its user of the system account. */
  systemSigner: string;
  /** JWTs of its users, which are of no use without their seeds. */
  jwts: { link: string; system: string };
  createdAt: number;
  createdBy: string;
  removedAt?: number;
  former: readonly FormerSite[];
}

const key = v.pipe(v.string(), v.regex(/^[AU][A-Z2-7]{55}$/));
const text = v.pipe(v.string(), v.minLength(1), v.maxLength(4096));

const stored = v.strictObject({
  v: v.literal(1),
  name: v.pipe(v.string(), v.check(isSiteName)),
  urls: v.array(text),
  account: key,
  users: v.strictObject({ link: key, system: key }),
  system_signer: key,
  jwts: v.strictObject({ link: text, system: text }),
  created_at: instant,
  created_by: text,
  removed_at: v.optional(instant),
  former: v.array(v.strictObject({ account: key, system: key })),
  voucher: v.instance(Uint8Array),
});

/** The stored form of a site, with the MAC of a master: who controls the bus cannot make one. */
export function encodeSite(mac: RecordMac, site: SiteRecord): Uint8Array {
  const fields = fieldsOf(site);
  return encode({ ...fields, voucher: mac("site", Object.values(fields)) });
}

/**
 * Reads a stored site.
 *
 * @param name its key
 * @returns `undefined` when no master vouches for it under this key
 * @throws Error when it is malformed
 */
export function decodeSite(mac: RecordMac, name: string, value: Uint8Array): SiteRecord | undefined {
  const {
    voucher,
    system_signer,
    created_at,
    created_by,
    removed_at,
    v: _,
    ...same
  } = v.parse(stored, decode(value));
  const site: SiteRecord = {
    ...same,
    systemSigner: system_signer,
    createdAt: created_at,
    createdBy: created_by,
    ...defined({ removedAt: removed_at }),
  };
  const expected = mac("site", Object.values(fieldsOf(site)));
  return site.name === name && isEqualMac(expected, voucher) ? site : undefined;
}

/** Every field, in a fixed order. */
function fieldsOf({ name, urls, account, users, systemSigner, jwts, former, ...rest }: SiteRecord) {
  return {
    v: 1,
    name,
    urls: [...urls],
    account,
    users: { link: users.link, system: users.system },
    system_signer: systemSigner,
    jwts: { link: jwts.link, system: jwts.system },
    created_at: rfc3339(rest.createdAt),
    created_by: rest.createdBy,
    former: former.map(({ account, system }) => ({ account, system })),
    ...(rest.removedAt === undefined ? {} : { removed_at: rfc3339(rest.removedAt) }),
  };
}
