import * as v from "valibot";
import { rfc3339 } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { isId } from "../../base/id.ts";
import { instant } from "../../base/instant.ts";
import { decode, encode, type Plain } from "../../base/msgpack.ts";
import { isEqualMac, macsFor, type RecordMac } from "../../identity/mod.ts";

export const storedStates = ["waiting", "started", "denied"] as const;
export const startOutcomes = ["done", "failed"] as const;

/** Who asked, or agreed. Times are milliseconds since the Unix epoch. */
export interface Party {
  /** As it is recorded: of a token `token:NAME`. */
  name: string;
  /** Who answers for it: of a token its creator. */
  person: string;
  door: "rest" | "bus" | "console" | "direct";
  roles: readonly string[];
  /** Public key that signed the request. */
  key?: string;
  /** What was signed: the envelope, and the subject it was signed for. */
  subject?: string;
  envelope?: Uint8Array;
  /** What a request over REST showed: `file`, `oidc`, or the id of a token. */
  bearer?: string;
  at: number;
}

/** A request that waits for others, or waited. */
export interface Approval {
  id: string;
  operation: string;
  /** Its parsed input. */
  input: Plain;
  requestId?: string;
  /** Encoded ids of the peels that it is about, if it starts something on peels. */
  targets?: readonly string[];
  /** Why it waits, for people. */
  rule: string;
  needs: number;
  asker: Party;
  agreed: readonly Party[];
  state: (typeof storedStates)[number];
  expiresAt: number;
  deniedBy?: string;
  /** When it was started first. */
  startedAt?: number;
  /** When a master last said that it starts it. */
  claimedAt?: number;
  outcome?: (typeof startOutcomes)[number];
  /** Why it failed, or why it was denied. */
  reason?: string;
  /** Id of the job that it started. */
  job?: string;
  /** Id of the rollout that it started. */
  rollout?: string;
}

const text = v.pipe(v.string(), v.maxLength(1_000));
const bytes = v.pipe(
  v.instance(Uint8Array),
  v.transform((value) => new Uint8Array(value)),
);
const party = v.strictObject({
  name: text,
  person: text,
  door: v.picklist(["rest", "bus", "console", "direct"]),
  roles: v.pipe(v.array(text), v.maxLength(64)),
  key: v.optional(text),
  subject: v.optional(text),
  envelope: v.optional(bytes),
  bearer: v.optional(text),
  at: instant,
});
const stored = v.strictObject({
  v: v.literal(1),
  id: v.pipe(
    v.string(),
    v.check((value) => isId("apr", value)),
  ),
  operation: text,
  input: v.custom<Plain>(() => true),
  request_id: v.optional(text),
  targets: v.optional(v.array(v.string())),
  rule: text,
  needs: v.pipe(v.number(), v.integer(), v.minValue(1)),
  asker: party,
  agreed: v.array(party),
  state: v.picklist(storedStates),
  expires_at: instant,
  denied_by: v.optional(text),
  started_at: v.optional(instant),
  claimed_at: v.optional(instant),
  outcome: v.optional(v.picklist(startOutcomes)),
  reason: v.optional(text),
  job: v.optional(text),
  rollout: v.optional(text),
  voucher: bytes,
});

/** The stored form, with the MAC of a master over all of it: who controls the bus can agree to nothing. */
export function encodeApproval(mac: RecordMac, approval: Approval): Uint8Array {
  const fields = fieldsOf(approval);
  return encode({ ...fields, voucher: mac("approval", fields) } as Plain);
}

/** @returns `undefined` for what is malformed, stored under another key, or not from a master */
export function decodeApproval(mac: RecordMac, key: string, value: Uint8Array): Approval | undefined {
  let found: v.InferOutput<typeof stored>;
  try {
    found = v.parse(stored, decode(value));
  } catch {
    return undefined;
  }
  const { voucher, request_id, expires_at, denied_by, started_at, claimed_at, v: _, ...rest } = found;
  const approval: Approval = defined({
    ...rest,
    asker: defined(rest.asker),
    agreed: rest.agreed.map((one) => defined(one)),
    requestId: request_id,
    expiresAt: expires_at,
    deniedBy: denied_by,
    startedAt: started_at,
    claimedAt: claimed_at,
  }) as Approval;
  if (approval.id !== key) return undefined;
  const fields = fieldsOf(approval);
  const isGenuine = macsFor(mac, key).some((one) => isEqualMac(one("approval", fields), voucher));
  return isGenuine ? approval : undefined;
}

function fieldsOf(approval: Approval) {
  const at = (ms: number | undefined) => (ms === undefined ? undefined : rfc3339(ms));
  const partyOf = ({ name, person, door, roles, at: when, ...more }: Party) => ({
    ...{ name, person, door, roles: [...roles], at: rfc3339(when) },
    ...defined({ key: more.key, subject: more.subject, envelope: more.envelope, bearer: more.bearer }),
  });
  const { id, operation, input, rule, needs, asker, agreed, state, targets } = approval;
  return {
    ...{ v: 1, id, operation, input, rule, needs, state, expires_at: rfc3339(approval.expiresAt) },
    asker: partyOf(asker),
    agreed: agreed.map(partyOf),
    ...defined({
      targets: targets === undefined ? undefined : [...targets],
      request_id: approval.requestId,
      denied_by: approval.deniedBy,
      started_at: at(approval.startedAt),
      claimed_at: at(approval.claimedAt),
      outcome: approval.outcome,
      reason: approval.reason,
      job: approval.job,
      rollout: approval.rollout,
    }),
  };
}
