import * as v from "valibot";
import type { Plain } from "../../base/msgpack.ts";
import { type RecordOf, record } from "../../base/record.ts";
import { bytes, count, id, list, optional, part, time } from "../../base/record-kinds.ts";
import { vouched } from "../../identity/mod.ts";
import { content } from "../../wire/content.ts";

const states = ["waiting", "started", "denied"] as const;
export const startOutcomes = ["done", "failed"] as const;

const text = v.pipe(v.string(), v.maxLength(1_000));

const party = part({
  /** As it is recorded: of a token `token:NAME`. */
  name: text,
  /** The operator who is responsible: for a token, its creator. */
  person: text,
  /** How `persons` of the roles file names them; absent for a token, whose creator counts. */
  identity: optional(text),
  door: v.picklist(["rest", "bus", "console", "direct"]),
  roles: list(text, 64),
  at: time,
  /** Public key that signed the request. */
  key: optional(text),
  /** What was signed: the envelope, and the subject it was signed for. */
  subject: optional(text),
  envelope: optional(bytes()),
  /** What a request over REST showed: `file`, `oidc`, or the id of a token. */
  bearer: optional(text),
});
/** The requester or an approver. Times are milliseconds since the Unix epoch. */
export type Party = v.InferOutput<typeof party.read>;

const fields = {
  id: id("apr"),
  operation: text,
  /** Its parsed input. */
  input: v.custom<Plain>(() => true),
  /** Why it waits, for people. */
  rule: text,
  needs: count(1),
  state: v.picklist(states),
  expiresAt: ["expires_at", time],
  asker: party,
  agreed: list(party),
  /** Encoded ids of the peels that it is about, if it starts something on peels. */
  targets: optional(list(v.string())),
  /** The files of the tree that it is about, if it runs any: exactly these run, whatever is published meanwhile. */
  content: optional(content),
  /** Those for its peels that run released files alone, where they differ. */
  released: optional(content),
  /** Whether these were not the newest files of their environment when it was requested. */
  isOlder: ["is_older", optional(v.boolean())],
  requestId: ["request_id", optional(text)],
  deniedBy: ["denied_by", optional(text)],
  /** When it was started first. */
  startedAt: ["started_at", optional(time)],
  /** When a master last said that it starts it. */
  claimedAt: ["claimed_at", optional(time)],
  outcome: optional(v.picklist(startOutcomes)),
  /** Why it failed, or why it was denied. */
  reason: optional(text),
  /** Id of the job that it started. */
  job: optional(text),
  /** Id of the rollout that it started. */
  rollout: optional(text),
} as const;

/** A request that waits for others, or waited. */
export type Approval = RecordOf<typeof fields>;

export const { encode: encodeApproval, read: readApproval } = vouched(
  record("approval", fields, { version: 1 }),
  {
    kind: "approval",
    keyOf: (approval) => approval.id,
    idOf: (approval) => approval.id,
    content: (stored) => stored,
  },
);

/** `expired` is not stored: it follows from the time. */
export function stateOf({ state, expiresAt }: Approval, now: number): Approval["state"] | "expired" {
  return state === "waiting" && expiresAt <= now ? "expired" : state;
}

/** UTF-16 code units. */
export const maxReason = 500;

/** What is stored must be read back as it was written: half of a character is not. */
export const reasonOf = (text: string): string => text.slice(0, maxReason).toWellFormed();
