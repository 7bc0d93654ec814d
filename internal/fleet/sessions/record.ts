import * as v from "valibot";
import { rfc3339 } from "../../base/clock.ts";
import { isId } from "../../base/id.ts";
import { instant } from "../../base/instant.ts";
import { decode, encode, type Plain } from "../../base/msgpack.ts";
import { isEqualMac, macsFor, type RecordMac } from "../../identity/mod.ts";
import type { Who } from "./who.ts";

/** What is kept: a session, or a link that becomes one. */
export type SessionKind = "session" | "link";

/** A session of the console, or a link to one, as masters store it. */
export interface Session {
  /** Names it in logs and in the audit: `ses-…`. */
  readonly id: string;
  readonly kind: SessionKind;
  /** SHA-256 of the secret, which only the browser has. */
  readonly digest: Uint8Array;
  readonly who: Who;
  /** Where it was signed in from, as `sourceOf` tells it; empty for a link. */
  readonly source: string;
  /** Milliseconds since the Unix epoch. */
  readonly createdAt: number;
  readonly expiresAt: number;
}

const text = v.pipe(v.string(), v.minLength(1), v.maxLength(512));
const bytes = v.custom<Uint8Array>((value) => value instanceof Uint8Array && value.length === 32);
const who = v.variant("by", [
  v.strictObject({ by: v.literal("operator"), name: text, key: text }),
  v.strictObject({ by: v.literal("unregistered"), name: text }),
  v.strictObject({ by: v.literal("file"), name: text, proof: bytes }),
  v.strictObject({ by: v.literal("token"), name: text, token: text, creator: text }),
  v.strictObject({
    by: v.literal("oidc"),
    name: text,
    issuer: text,
    roles: v.pipe(v.array(text), v.maxLength(64)),
  }),
]);
const stored = v.strictObject({
  v: v.literal(1),
  id: v.pipe(
    v.string(),
    v.check((value) => isId("ses", value)),
  ),
  kind: v.picklist(["session", "link"]),
  sha256: bytes,
  who,
  source: v.pipe(v.string(), v.maxLength(64)),
  created_at: instant,
  expires_at: instant,
  voucher: bytes,
});

/** Where a session or a link is stored. */
export const keyOf = (kind: SessionKind, digest: Uint8Array): string =>
  `${kind}.${Buffer.from(digest).toString("hex")}`;

/** The stored form, with the MAC of a master: someone who controls the bus cannot make a session. */
export function encodeSession(mac: RecordMac, session: Session): Uint8Array {
  return encode({ ...fieldsOf(session), voucher: mac("session", contentOf(session)) });
}

/** Reads what is stored; `undefined` for what is malformed, or not from a master, or stored under another key. */
export function decodeSession(mac: RecordMac, key: string, value: Uint8Array): Session | undefined {
  const found = v.safeParse(stored, attempt(value));
  if (!found.success) return undefined;
  const { id, kind, sha256: digest, who, source, created_at, expires_at, voucher } = found.output;
  const session: Session = { id, kind, digest, who, source, createdAt: created_at, expiresAt: expires_at };
  if (keyOf(kind, digest) !== key) return undefined;
  const content = contentOf(session);
  return macsFor(mac, id).some((one) => isEqualMac(one("session", content), voucher)) ? session : undefined;
}

function attempt(value: Uint8Array): unknown {
  try {
    return decode(value);
  } catch {
    return undefined;
  }
}

function fieldsOf({ id, kind, digest, who, source, createdAt, expiresAt }: Session): Record<string, Plain> {
  return {
    ...{ v: 1, id, kind, sha256: digest, who: whoFields(who), source },
    ...{ created_at: rfc3339(createdAt), expires_at: rfc3339(expiresAt) },
  };
}

/** Every field, in a fixed order. */
function whoFields(who: Who): Record<string, Plain> {
  const { by, name } = who;
  switch (who.by) {
    case "operator":
      return { by, name, key: who.key };
    case "unregistered":
      return { by, name };
    case "file":
      return { by, name, proof: who.proof };
    case "token":
      return { by, name, token: who.token, creator: who.creator };
    case "oidc":
      return { by, name, issuer: who.issuer, roles: [...who.roles] };
  }
}

const contentOf = (session: Session): unknown => Object.values(fieldsOf(session));
