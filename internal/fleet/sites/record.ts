import * as v from "valibot";
import { isSiteName } from "../../base/names/site-name.ts";
import { type RecordOf, record } from "../../base/record.ts";
import { list, optional, part, textOf, time } from "../../base/record-kinds.ts";
import { vouched } from "../../identity/mod.ts";

const key = v.pipe(v.string(), v.regex(/^[AU][A-Z2-7]{55}$/));
const text = v.pipe(v.string(), v.minLength(1), v.maxLength(4096));

const former = part({
  /** Public key of its account. */
  account: key,
  /** Public key of its user of the system account. */
  system: key,
});
/** An earlier site of the same name: its keys are never valid again. */
export type FormerSite = v.InferOutput<typeof former.read>;

const fields = {
  /** Also its key in the bucket. */
  name: textOf(isSiteName, "the name of a site"),
  /** Where its peels connect. */
  urls: list(text),
  /** Public key of its account. */
  account: key,
  /** Public keys with which its server connects. */
  users: part({ link: key, system: key }),
  /** Public key that signed its user of the system account. */
  systemSigner: ["system_signer", key],
  /** JWTs of its users, which do not work without their seeds. */
  jwts: part({ link: text, system: text }),
  createdAt: ["created_at", time],
  createdBy: ["created_by", text],
  former: list(former),
  removedAt: ["removed_at", optional(time)],
} as const;

/** A site: a server of the bus that stands with its peels. Times are milliseconds since the Unix epoch. */
export type SiteRecord = RecordOf<typeof fields>;

export const { encode: encodeSite, decode: decodeSite } = vouched(record("site", fields, { version: 1 }), {
  kind: "site",
  keyOf: ({ name }) => name,
  content: (stored) => Object.values(stored),
});
