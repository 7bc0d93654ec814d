import * as v from "valibot";
import { encodeBase64 } from "../../base/base64.ts";
import { type Clock, rfc3339 } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";
import { isId } from "../../base/id.ts";
import type { Bucket } from "../../bus/mod.ts";
import {
  type Call,
  described,
  feed,
  operation,
  operatorOf,
  pageFields,
  pageOf,
  timestamp,
  titled,
} from "../operation/mod.ts";
import type { ApplyDeps } from "./apply.ts";
import { approve } from "./approve.ts";
import { type ChallengeDeps, issueChallenge } from "./challenge.ts";
import { type DeliverDeps, deliverCredentials } from "./deliver.ts";
import type { Directory } from "./directory.ts";
import { type EnrollDeps, enroll } from "./enroll.ts";
import {
  type Enrollment,
  type EnrollmentSummary,
  enrollmentSchema,
  enrollmentStates,
  toStored,
} from "./record.ts";
import { reject } from "./reject.ts";
import { type EnforceRevocation, type RevokeDeps, revoke, revokeRecord } from "./revoke.ts";
import { type RevokeUserDeps, revokeUser } from "./revoke-user.ts";
import { loadEnrollment } from "./store.ts";
import { isStreamTerminal } from "./transition.ts";
import { peelIdField, publicKeyField, readSubmission, submissionSchema } from "./validate.ts";

const id = described(v.string(), "Id of the enrollment: `enr-` and a KSUID");
const onlyId = v.strictObject({ id });
const commandKeys = described(v.array(v.string()), "Public keys that sign commands");

const standing = {
  id: described(v.string(), "Id of the enrollment"),
  peel_id: peelIdField,
  state: v.picklist(enrollmentStates),
};

const standingOf = ({ id, peelId, state }: Enrollment) => ({ id, peel_id: peelId, state });
const touchesId = (input: { id: string }) => ({ enrollment: input.id });

export const getChallenge = operation({
  name: "enrollments.challenge",
  kind: "change",
  summary: "Get a challenge to sign",
  admits: ["anonymous"],
  input: v.strictObject({
    peel_id: described(peelIdField, "Encoded id the peel wants"),
    public_key: described(publicKeyField, "Key the challenge is for"),
  }),
  output: titled(
    "Challenge",
    v.object({
      challenge_id: described(v.string(), "`chl-` and a KSUID"),
      challenge: described(v.string(), "32 random bytes in base64, to be signed"),
      expires_at: described(timestamp, "The challenge is good for one use until then"),
    }),
  ),
  touches: ({ peel_id }) => ({ peel: peel_id }),
  async run(deps: ChallengeDeps, { peel_id: peelId, public_key: publicKey }) {
    const { id, bytes, expiresAt } = await issueChallenge(deps, { peelId, publicKey });
    return { challenge_id: id, challenge: encodeBase64(bytes), expires_at: rfc3339(expiresAt) };
  },
});

export const submit = operation({
  name: "enrollments.submit",
  kind: "change",
  summary: "Ask to be enrolled",
  admits: ["anonymous"],
  input: submissionSchema,
  output: v.object({
    /** Whether this submission made the enrollment; otherwise it was pending already. */
    created: v.boolean(),
    enrolled: titled(
      "Enrolled",
      v.object({
        ...standing,
        key_mismatch: v.exactOptional(
          v.pipe(
            v.literal(true),
            v.metadata({
              type: "boolean",
              description: "The pending enrollment has another public key, which stays",
            }),
          ),
        ),
      }),
    ),
  }),
  touches: ({ peel_id }) => ({ peel: peel_id }),
  async run(deps: EnrollDeps, input, { log, note }) {
    const { record, created, keyMismatch } = await enroll({ ...deps, log }, readSubmission(input));
    note?.({ enrollment_id: record.id });
    return {
      created,
      enrolled: { ...standingOf(record), ...(keyMismatch ? { key_mismatch: true as const } : {}) },
    };
  },
});

export const getState = operation({
  name: "enrollments.state",
  kind: "read",
  summary: "See the state of an enrollment",
  admits: ["anonymous"],
  input: onlyId,
  output: titled("EnrollmentStanding", v.object(standing)),
  touches: touchesId,
  async run(deps: { enrollments: Bucket }, input, { note }) {
    const { record } = await loadEnrollment(deps.enrollments, input.id);
    note?.({ enrollment_id: record.id });
    return standingOf(record);
  },
});

export interface FollowStateDeps {
  enrollments: Bucket;
  directory: Pick<Directory, "subscribe">;
  metrics: { streamOpened(): () => void };
}

export const followState = operation({
  name: "enrollments.follow",
  kind: "read",
  summary: "Follow the state of an enrollment",
  description:
    "Server-sent events. `state` has `{id, peel_id, state}` as data, at once and at each change; the stream ends with the first state that is not `pending`. A comment comes every 30 seconds. `timeout` ends the stream after 30 minutes.",
  admits: ["anonymous"],
  input: onlyId,
  output: feed,
  touches: touchesId,
  async run({ enrollments, directory, metrics }: FollowStateDeps, input, { note }) {
    const { record } = await loadEnrollment(enrollments, input.id);
    note?.({ enrollment_id: record.id });
    return {
      start(sink) {
        let last: string | undefined;
        const show = (state: typeof record.state) => {
          if (state === last) return;
          last = state;
          sink.send("state", standingOf({ ...record, state }));
          if (isStreamTerminal(state)) sink.close();
        };
        // Subscribed first and read again after: a change between the two is not lost.
        const closed = metrics.streamOpened();
        const unsubscribe = directory.subscribe(record.id, show);
        show(record.state);
        loadEnrollment(enrollments, record.id)
          .then((fresh) => show(fresh.record.state))
          .catch(() => {
            // The subscription still tells.
          });
        return () => {
          unsubscribe();
          closed();
        };
      },
    };
  },
});

export const deliver = operation({
  name: "enrollments.deliver",
  kind: "change",
  summary: "Download the credentials of an approved enrollment, once",
  admits: ["peel"],
  input: onlyId,
  output: titled(
    "Credentials",
    v.object({
      peel_id: peelIdField,
      creds_data: described(v.string(), "A credentials file for the bus, in base64; a secret"),
      expires_at: described(timestamp, "When the bus stops accepting them"),
      command_keys: commandKeys,
    }),
  ),
  touches: touchesId,
  async run(deps: DeliverDeps & { commandKeys: readonly string[] }, input, { caller, log, note }) {
    note?.({ enrollment_id: input.id });
    const proof = caller.kind === "peel" ? caller.proof : undefined;
    const { record, credentials, expiresAt } = await deliverCredentials({ ...deps, log }, input.id, proof);
    return {
      peel_id: record.peelId,
      creds_data: encodeBase64(Buffer.from(credentials)),
      expires_at: rfc3339(expiresAt),
      command_keys: [...deps.commandKeys],
    };
  },
});

const summary: v.GenericSchema<EnrollmentSummary> = titled(
  "EnrollmentSummary",
  v.object({
    id: v.string(),
    peel_id: described(v.string(), "Encoded peel id"),
    hostname: described(v.string(), "Empty when the peel did not say"),
    state: v.picklist(enrollmentStates),
    created_at: timestamp,
    trust: described(
      v.picklist(["ok", "MISMATCH!", "-"]),
      "Whether the peel trusted the CA root of this fleet; `-` when it did not say",
    ),
  }),
);

export const listEnrollments = operation({
  name: "enrollments.list",
  kind: "read",
  summary: "List enrollments, newest first",
  admits: ["operator"],
  input: v.strictObject({
    state: v.optional(described(v.picklist([...enrollmentStates, "all"]), "Which ones"), "pending"),
    ...pageFields((text) => isId("enr", text)),
  }),
  output: v.object({ enrollments: v.array(summary), next: v.exactOptional(v.string()) }),
  touches: () => ({ fleet: true }),
  async run({ directory }: { directory: Directory }, { state, limit, cursor }) {
    await directory.caughtUp();
    const after = cursor === undefined ? {} : { after: cursor };
    const found = directory.list({ state, limit: limit + 1, ...after });
    const { items, ...next } = pageOf(found, limit, ({ id }) => id);
    return { enrollments: items, ...next };
  },
});

const decided = v.object({ enrollment: enrollmentSchema });
const reason = described(
  v.pipe(v.string(), v.maxLength(1024, "must have at most 1024 characters")),
  "Why, for people; it is kept",
);

/** Records a decision in the words of the specification, whoever made it and however it was asked for. */
function announce(
  { log, note }: Call,
  action: "approve" | "reject" | "revoke",
  { id, peelId }: Enrollment,
  operator: string,
  more: Record<string, unknown> = {},
): void {
  note?.({ enrollment_id: id });
  log.info(pastOf[action], { enrollment_id: id, peel_id: peelId, operator });
  log.info("enrollment admin operation", { action, id, operator, peel_id: peelId, ...more });
}

const pastOf = {
  approve: "enrollment approved",
  reject: "enrollment rejected",
  revoke: "enrollment revoked",
};

export const approveEnrollment = operation({
  name: "enrollments.approve",
  kind: "decide",
  summary: "Let a peel into the fleet",
  admits: ["operator", "reactor"],
  input: v.strictObject({
    id,
    force: v.optional(described(v.boolean(), "Approve although the peel trusted another CA root")),
  }),
  output: decided,
  touches: touchesId,
  async run(deps: ApplyDeps, { id, force }, call) {
    const operator = operatorOf(call);
    const record = await approve(deps, { id, operator, force: force === true });
    announce(call, "approve", record, operator);
    return { enrollment: toStored(record) };
  },
});

export const rejectEnrollment = operation({
  name: "enrollments.reject",
  kind: "decide",
  summary: "Refuse a peel",
  admits: ["operator"],
  input: v.strictObject({ id, reason: v.optional(reason) }),
  output: decided,
  touches: touchesId,
  async run(deps: ApplyDeps, { id, reason }, call) {
    const operator = operatorOf(call);
    const record = await reject(deps, { id, operator, reason });
    announce(call, "reject", record, operator);
    return { enrollment: toStored(record) };
  },
});

/** What a revocation needs: `enforce` makes it felt on the bus at once, where there is a master to do it. */
export type RevokeOperationDeps = RevokeDeps & { enforce?: EnforceRevocation };

export const revokeEnrollment = operation({
  name: "enrollments.revoke",
  kind: "decide",
  summary: "Take a peel's credentials back and end its connection",
  admits: ["operator"],
  input: v.strictObject({ id, reason: v.optional(reason) }),
  output: v.object({ ...decided.entries, closed_in_ms: v.exactOptional(v.number()) }),
  touches: touchesId,
  async run(deps: RevokeOperationDeps, { id, reason }, call) {
    const operator = operatorOf(call);
    const request = { id, operator, reason };
    const { record, closedInMs } =
      deps.enforce === undefined
        ? { record: await revokeRecord(deps, request), closedInMs: undefined }
        : await revoke({ ...deps, ...deps.enforce, log: call.log }, request);
    announce(call, "revoke", record, operator, { closed_in_ms: closedInMs });
    return {
      enrollment: toStored(record),
      ...(closedInMs === undefined ? {} : { closed_in_ms: closedInMs }),
    };
  },
});

export const revokeUserOfBus = operation({
  name: "enrollments.revoke-user",
  kind: "decide",
  summary: "Revoke a peel by its name, or a key of the bus, also without a record",
  admits: ["operator"],
  input: v.strictObject({
    peel: v.optional(described(peelIdField, "Encoded id of the peel; or `key`")),
    key: v.optional(described(publicKeyField, "Key with which it connects; or `peel`")),
    reason: v.optional(reason),
  }),
  output: v.object({
    revoked: v.array(
      v.object({
        peel_id: described(v.string(), "Empty when nothing is known of the key"),
        enrollment_id: v.exactOptional(described(v.string(), "Absent when no record has the key")),
        bus_public_key: v.exactOptional(v.string()),
      }),
    ),
  }),
  touches: ({ peel }) => (peel === undefined ? { fleet: true } : { peel }),
  async run(deps: RevokeUserDeps, { peel, key, reason }, call) {
    const operator = operatorOf(call);
    const who =
      peel !== undefined && key === undefined
        ? { peelId: peel }
        : key !== undefined && peel === undefined
          ? { key }
          : undefined;
    if (who === undefined) throw new SvcError("bad_request", "peel or key is required, and not both");
    const revoked = await revokeUser(deps, who, operator, reason);
    for (const { peelId, enrollmentId, busPublicKey } of revoked) {
      call.log.info("bus user revoked", {
        peel_id: peelId,
        enrollment_id: enrollmentId,
        bus_public_key: busPublicKey,
        operator,
        reason,
      });
    }
    return {
      revoked: revoked.map(({ peelId, enrollmentId, busPublicKey }) => ({
        peel_id: peelId,
        ...(enrollmentId === undefined ? {} : { enrollment_id: enrollmentId }),
        ...(busPublicKey === undefined ? {} : { bus_public_key: busPublicKey }),
      })),
    };
  },
});

/** What the operations on enrollments of operators need. */
export interface OperatorEnrollmentDeps extends RevokeDeps {
  revocations: RevokeUserDeps["revocations"];
  directory: Directory;
  enforce: EnforceRevocation;
  clock: Clock;
}

/** What the operations of peels that enroll need. */
export interface PeelEnrollmentDeps {
  challenge: ChallengeDeps;
  enroll: EnrollDeps;
  deliver: DeliverDeps & { commandKeys: readonly string[] };
  state: FollowStateDeps;
  clock: Clock;
}
