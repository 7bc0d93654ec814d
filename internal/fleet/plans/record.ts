import * as v from "valibot";
import { type RecordOf, record } from "../../base/record.ts";
import { bytes, count, id, list, optional, text, time } from "../../base/record-kinds.ts";
import { snapshotDigest } from "../../wire/content.ts";

const fields = {
  id: id("pln"),
  /** Its creator. */
  operator: text(256),
  createdAt: ["created_at", time],
  /** `uploading` until its tree is whole. */
  state: v.picklist(["uploading", "compiling", "done", "failed"]),
  /** When something happened to it last. */
  updatedAt: ["updated_at", time],
  target: text(4_096),
  environment: text(256),
  commit: optional(text(64)),
  sinceLastRun: ["since_last_run", optional(v.boolean())],
  /** Digest of the list of its peels. */
  peels: snapshotDigest,
  /** Digests of the parts: of its tree while it is uploaded, of the plan when it is done. */
  parts: list(bytes(32), 4_096),
  /** Bytes of the parts. */
  size: count(0),
  problem: optional(text(2_048)),
} as const;

/** What is stored of a plan besides its parts. */
export type PlanRecord = RecordOf<typeof fields>;

export const planRecord = record("plan", fields, { version: 1 });
