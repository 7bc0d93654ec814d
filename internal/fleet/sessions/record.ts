import * as v from "valibot";
import { type RecordOf, record } from "../../base/record.ts";
import { bytes, id, list, time } from "../../base/record-kinds.ts";
import { vouched } from "../../identity/mod.ts";

const text = v.pipe(v.string(), v.minLength(1), v.maxLength(512));

const ways = {
  /** A registered operator, who signed the request for a link with this key. */
  operator: v.strictObject({ by: v.literal("operator"), name: text, key: text }),
  /** Someone who is not registered: `operators.require_signed: false` admits them under any name. */
  unregistered: v.strictObject({ by: v.literal("unregistered"), name: text }),
  /** A token of a file; `proof` is a MAC of it, so that another token in the file ends the session. */
  file: v.strictObject({ by: v.literal("file"), name: text, proof: bytes(32) }),
  /** A token of the bucket `tokens`. */
  token: v.strictObject({ by: v.literal("token"), name: text, token: text, creator: text }),
  /** A person of an identity provider, with the roles that their token gave. */
  oidc: v.strictObject({
    ...{ by: v.literal("oidc"), name: text, issuer: text },
    /** Absent in sessions that earlier versions opened. */
    subject: v.exactOptional(text),
    roles: list(text, 64).read,
  }),
} as const;
const who = v.variant("by", Object.values(ways));

/** Who signed in, and by what they are judged at each request. */
export type Who = Readonly<v.InferOutput<typeof who>>;

/** What is kept: a session, or a link that becomes one. */
const kinds = ["session", "link"] as const;
export type SessionKind = (typeof kinds)[number];

const fields = {
  /** Names it in logs and in the audit: `ses-…`. */
  id: id("ses"),
  kind: v.picklist(kinds),
  /** SHA-256 of the secret, which only the browser has. */
  digest: ["sha256", bytes(32)],
  who: {
    read: who,
    /** In one order, since the MAC covers it. */
    write: (one: Who) =>
      Object.fromEntries(
        Object.keys(ways[one.by].entries)
          .filter((name) => name in one)
          .map((name) => [name, one[name as keyof Who]]),
      ),
  },
  /** Where it was signed in from, as `sourceOf` tells it; empty for a link. */
  source: v.pipe(v.string(), v.maxLength(64)),
  createdAt: ["created_at", time],
  expiresAt: ["expires_at", time],
} as const;

/** A session of the console, or a link to one. Times are milliseconds since the Unix epoch. */
export type Session = RecordOf<typeof fields>;

/** Where a session or a link is stored. */
export const keyOf = (kind: SessionKind, digest: Uint8Array): string =>
  `${kind}.${Buffer.from(digest).toString("hex")}`;

export const { encode: encodeSession, read: readSession } = vouched(
  record("session", fields, { version: 1 }),
  {
    kind: "session",
    keyOf: ({ kind, digest }) => keyOf(kind, digest),
    idOf: (session) => session.id,
  },
);
