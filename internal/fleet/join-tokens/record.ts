import * as v from "valibot";
import { type RecordOf, record } from "../../base/record.ts";
import { bytes, count, hidden, id, optional, text, time } from "../../base/record-kinds.ts";
import { vouched } from "../../identity/mod.ts";
import type { Labels } from "../enrollment/record/mod.ts";
import { makerField } from "../roles/mod.ts";

const labels: v.GenericSchema<Labels> = v.record(v.string(), v.string());

const fields = {
  /** `jtk-…`, also its key in the bucket. */
  id: id("jtk"),
  /** SHA-256 of the secret. */
  digest: ["sha256", hidden(bytes(32))],
  peel: ["peel", text(255), "A glob: it is for hosts whose peel ID matches, with dots"],
  uses: ["uses", count(1), "How many hosts it admits"],
  createdAt: ["created_at", time],
  expiresAt: ["expires_at", time],
  labels: ["labels", labels, "What its hosts get"],
  createdBy: ["created_by", text(256)],
  hold: ["hold", v.boolean(), "Its hosts wait for an operator"],
  note: optional(v.string()),
  revokedAt: ["revoked_at", optional(time)],
  revokedBy: ["revoked_by", optional(text(256))],
  maker: hidden(optional(makerField)),
} as const;

/** A token that hosts join with, without its secret. Times are milliseconds since the Unix epoch. */
export type JoinTokenRecord = RecordOf<typeof fields>;

export const joinTokenRecord = record("join token", fields, { version: 1 });

export const { encode: encodeToken, decode: decodeToken } = vouched(joinTokenRecord, {
  kind: "join-token",
  keyOf: (token) => token.id,
  /** Labels by name, behind what each token has. */
  content({ labels, note = null, revoked_at = null, revoked_by = null, maker, ...always }) {
    const known = maker === undefined ? [] : [maker];
    return [...Object.values(always), byName(labels as Labels), note, revoked_at, revoked_by, ...known];
  },
});

/** Labels in one order. */
const byName = (labels: Labels) => Object.entries(labels).sort(([one], [other]) => (one < other ? -1 : 1));
