import * as v from "valibot";
import { type RecordOf, record } from "../../base/record.ts";
import { bytes, hidden, id, list, optional, text, textOf, time } from "../../base/record-kinds.ts";
import { vouched } from "../../identity/mod.ts";

/**
 * Where the creator of a token is known: in the registry of operators, in the configuration of a master, or,
 * where `operators.require_signed` is off, nowhere.
 */
export const creatorKinds = ["registered", "file", "unregistered"] as const;
export type CreatorKind = (typeof creatorKinds)[number];

const nameForm = /^[a-z0-9](?:[a-z0-9._-]{0,61}[a-z0-9])?$/;

/** Whether a token may have this name. */
export const isTokenName = (name: string): boolean => nameForm.test(name);

const fields = {
  id: id("tok"),
  /** Also the key in the bucket, so that there is one of a name. */
  name: textOf(isTokenName, "the name of a token"),
  /** SHA-256 of the text. */
  digest: ["sha256", hidden(bytes(32))],
  roles: ["roles", list(text(256), 64), "As it was created; it never has a role that its creator lacks"],
  createdBy: ["created_by", text(256)],
  creator: hidden(v.picklist(creatorKinds)),
  createdAt: ["created_at", time],
  expiresAt: ["expires_at", time],
  lastUsedAt: ["last_used_at", optional(time), "The hour of its last use, and not before it was made"],
  revokedAt: ["revoked_at", optional(time)],
  revokedBy: ["revoked_by", optional(text(256))],
} as const;

/** A token of the REST API, without the token itself. Times are milliseconds since the Unix epoch. */
export type Token = RecordOf<typeof fields>;

export const tokenRecord = record("token", fields, { version: 1 });

export const {
  encode: encodeToken,
  decode: decodeToken,
  read: readToken,
} = vouched(tokenRecord, { kind: "token", keyOf: ({ name }) => name, idOf: (token) => token.id });
