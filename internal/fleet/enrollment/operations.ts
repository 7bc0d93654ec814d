import * as v from "valibot";
import { encodeBase64 } from "../../base/base64.ts";
import { type Clock, rfc3339 } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { described, timestamp, titled } from "../../base/schema.ts";
import type { Bucket } from "../../bus/storage/mod.ts";
import { type EvidenceType, evidenceTypes } from "../../identity/evidence/mod.ts";
import { type LearnedKeys, learnedFields, learnedKeys } from "../../wire/learned-keys.ts";
import { publicKeyField } from "../../wire/public-keys.ts";
import { feed, operation, operatorOf, pageFields, pageOf } from "../operation/mod.ts";
import { announce } from "./announce.ts";
import { type ApproveDeps, approve } from "./approve.ts";
import { type DeliverDeps, deliverCredentials } from "./credentials/mod.ts";
import {
  type ChallengeDeps,
  type EnrollDeps,
  issueChallenge,
  joinTokenIdField,
  peelIdField,
  readSubmission,
  reasonField,
  submissionSchema,
  takeSubmission,
} from "./joining/mod.ts";
import type { ShowEnrollmentDeps } from "./read-operations.ts";
import {
  type Enrollment,
  enrollmentSchema,
  enrollmentStates,
  enrollmentSummary,
  isStreamTerminal,
  toStored,
} from "./record/mod.ts";
import type { FindByKeyDeps, RecoverOperationDeps } from "./recovery-operations.ts";
import { discard, restore } from "./restore.ts";
import {
  type EnforceRevocation,
  type ResumeRecordDeps,
  type RevokeDeps,
  type RevokeUserDeps,
  resume,
  revoke,
  revokeRecord,
  type SuspensionEffects,
  suspend,
} from "./revocation/mod.ts";
import { type ApplyDeps, applyEvent, type Directory, type Enrollments, loadEnrollment } from "./store/mod.ts";
import type { ChallengeTpmDeps } from "./tpm-operation.ts";

export { labelEnrollment } from "./label-operation.ts";
export { listStrays, type ShowEnrollmentDeps, showEnrollment } from "./read-operations.ts";
export { findEnrollmentOfKey, recoverCredentials } from "./recovery-operations.ts";
export { revokeUserOfBus } from "./revoke-user-operation.ts";
export { type ChallengeTpmDeps, challengeTpm } from "./tpm-operation.ts";

const id = described(v.string(), "Id of the enrollment: `enr-` and a KSUID");
const onlyId = v.strictObject({ id });

const standing = {
  id: described(v.string(), "Id of the enrollment"),
  peel_id: peelIdField,
  state: v.picklist(enrollmentStates),
};

const standingOf = ({ id, peelId, state }: Enrollment) => ({ id, peel_id: peelId, state });
const touchesId = (input: { id: string }) => ({ enrollment: input.id });

export interface GetChallengeDeps extends ChallengeDeps {
  /** What this master verifies; absent when it verifies none. */
  evidence?: EvidenceType[];
}

export const getChallenge = operation({
  name: "enrollments.challenge",
  kind: "change",
  summary: "Get a challenge to sign",
  admits: ["anonymous"],
  scope: "public",
  input: v.strictObject({
    peel_id: described(peelIdField, "Encoded peel ID that the peel requests"),
    public_key: described(publicKeyField, "Key the challenge is for"),
    token: v.optional(
      described(
        joinTokenIdField,
        "Id of the join token that the host is going to prove: then the token pays for the requests of this join, and not the address, while the token is open",
      ),
    ),
  }),
  output: titled(
    "Challenge",
    v.object({
      challenge_id: described(v.string(), "`chl-` and a KSUID"),
      challenge: described(v.string(), "32 random bytes in base64 to sign"),
      expires_at: described(timestamp, "The challenge is valid for one use until then"),
      evidence: v.exactOptional(
        described(
          v.array(v.picklist(evidenceTypes)),
          "What this master accepts as `evidence`; absent when it accepts none",
        ),
      ),
    }),
  ),
  touches: ({ peel_id }) => ({ peel: peel_id }),
  async run(
    { challenge: deps }: Pick<PeelEnrollmentDeps, "challenge">,
    { peel_id: peelId, public_key: publicKey },
  ) {
    const { id, bytes, expiresAt } = await issueChallenge(deps, { peelId, publicKey });
    const challenge = { challenge_id: id, challenge: encodeBase64(bytes), expires_at: rfc3339(expiresAt) };
    return { ...challenge, ...defined({ evidence: deps.evidence }) };
  },
});

export const enroll = operation({
  name: "enrollments.submit",
  kind: "change",
  summary: "Ask to be enrolled",
  admits: ["anonymous"],
  scope: "public",
  input: submissionSchema,
  output: v.object({
    /** Whether this submission created the enrollment; otherwise it waited already. */
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
              description:
                "The pending enrollment has another public key, and keeps it: this host proved nothing more",
            }),
          ),
        ),
      }),
    ),
  }),
  touches: ({ peel_id }) => ({ peel: peel_id }),
  async run({ enroll: deps }: Pick<PeelEnrollmentDeps, "enroll">, input, { caller, log, note }) {
    const address = caller.kind === "anonymous" ? caller.address : undefined;
    const { record, created, keyMismatch } = await takeSubmission(
      { ...deps, log },
      readSubmission(input),
      address,
    );
    note?.({ enrollment_id: record.id });
    return {
      created,
      enrolled: { ...standingOf(record), ...(keyMismatch ? { key_mismatch: true as const } : {}) },
    };
  },
});

export const getEnrollmentState = operation({
  name: "enrollments.state",
  kind: "read",
  summary: "Get the state of an enrollment",
  admits: ["anonymous"],
  scope: "public",
  input: onlyId,
  output: titled("EnrollmentStanding", v.object(standing)),
  touches: touchesId,
  async run({ state: { enrollments } }: Pick<PeelEnrollmentDeps, "state">, input, { note }) {
    const { record } = await loadEnrollment(enrollments, input.id);
    note?.({ enrollment_id: record.id });
    return standingOf(record);
  },
});

export interface FollowStateDeps {
  enrollments: Enrollments;
  directory: Pick<Directory, "subscribe">;
  metrics: { streamOpened(): () => void };
}

export const streamEnrollmentState = operation({
  name: "enrollments.follow",
  kind: "read",
  summary: "Follow the state of an enrollment",
  description:
    "Server-sent events. `state` has `{id, peel_id, state}` as data, immediately and after each change; the stream ends with the first state that is not `pending`. A comment comes every 30 seconds. `timeout` ends the stream after 30 minutes.",
  admits: ["anonymous"],
  scope: "public",
  input: onlyId,
  output: feed,
  touches: touchesId,
  async run({ state }: Pick<PeelEnrollmentDeps, "state">, input, { note }) {
    const { enrollments, directory, metrics } = state;
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
        // Subscribe first and read again: a change between the two is not lost.
        const closed = metrics.streamOpened();
        const unsubscribe = directory.subscribe(record.id, show);
        show(record.state);
        loadEnrollment(enrollments, record.id)
          .then((fresh) => show(fresh.record.state))
          .catch(() => {
            // The subscription still reports changes.
          });
        return () => {
          unsubscribe();
          closed();
        };
      },
    };
  },
});

export const downloadCredentials = operation({
  name: "enrollments.deliver",
  kind: "change",
  summary: "Download the credentials of an approved enrollment, once",
  admits: ["peel"],
  scope: "public",
  input: onlyId,
  output: titled(
    "Credentials",
    v.object({
      peel_id: peelIdField,
      creds_data: described(v.string(), "A credentials file for the bus, in base64; a secret"),
      expires_at: described(timestamp, "When the bus stops accepting them"),
      ...learnedFields,
    }),
  ),
  touches: touchesId,
  async run({ deliver: deps }: Pick<PeelEnrollmentDeps, "deliver">, input, { caller, log, note }) {
    note?.({ enrollment_id: input.id });
    const proof = caller.kind === "peel" ? caller.proof : undefined;
    const { record, credentials, expiresAt } = await deliverCredentials({ ...deps, log }, input.id, proof);
    return {
      peel_id: record.peelId,
      creds_data: encodeBase64(Buffer.from(credentials)),
      expires_at: rfc3339(expiresAt),
      ...learnedKeys(deps),
    };
  },
});

/** Ids that one request can pick. */
const maxPicked = 1_000;

export const listEnrollments = operation({
  name: "enrollments.list",
  kind: "read",
  summary: "List enrollments, newest first",
  input: v.strictObject({
    state: v.optional(described(v.picklist([...enrollmentStates, "all"]), "Which ones"), "pending"),
    ids: v.optional(
      described(
        v.pipe(v.array(v.string()), v.maxLength(maxPicked, `must have at most ${maxPicked} ids`)),
        "Only those of them that have these ids, unordered and on one page",
      ),
    ),
    ...pageFields("enr"),
  }),
  output: v.object({
    enrollments: v.array(enrollmentSummary),
    next: v.exactOptional(v.string()),
    /** Records of the whole fleet that are ignored. */
    distrusted: v.number(),
  }),
  async run({ directory }: { directory: Directory }, { state, ids, limit, cursor }) {
    await directory.caughtUp();
    const distrusted = directory.countTampered();
    if (ids !== undefined) return { enrollments: directory.pick({ state, ids }), distrusted };
    const after = defined({ after: cursor });
    const found = directory.list({ state, limit: limit + 1, ...after });
    const { items, ...next } = pageOf(found, limit, ({ id }) => id);
    return { enrollments: items, ...next, distrusted };
  },
});

const decided = v.object({ enrollment: enrollmentSchema });
export const approveEnrollment = operation({
  name: "enrollments.approve",
  kind: "decide",
  summary: "Approve an enrollment",
  admits: ["operator", "reactor"],
  input: v.strictObject({
    id,
    force: v.optional(described(v.boolean(), "Approve although the peel trusted another CA root")),
    drop_labels: v.optional(
      described(v.boolean(), "Without the labels of `former`: it needs the right to remove them"),
    ),
  }),
  output: v.object({
    ...decided.entries,
    rejected: v.exactOptional(
      described(v.array(v.string()), "Ids of other enrollments that waited under its peel id"),
    ),
  }),
  touches: touchesId,
  async run(deps: ApproveDeps, { id, force = false, drop_labels: dropLabels = false }, call) {
    const { record, rejected } = await approve(deps, { id, force, dropLabels }, call);
    announce(call, "approve", record, operatorOf(call), rejected.length === 0 ? {} : { rejected });
    return { enrollment: toStored(record), ...(rejected.length === 0 ? {} : { rejected }) };
  },
});

export const rejectEnrollment = operation({
  name: "enrollments.reject",
  kind: "decide",
  summary: "Refuse a peel",
  input: v.strictObject({ id, reason: v.optional(reasonField) }),
  output: decided,
  touches: touchesId,
  async run(deps: ApplyDeps, { id, reason }, call) {
    const operator = operatorOf(call);
    const record = await applyEvent(deps, id, { type: "reject", operator, ...defined({ reason }) });
    announce(call, "reject", record, operator);
    return { enrollment: toStored(record) };
  },
});

/** What a revocation needs. `enforce` applies it to the bus immediately; absent without a master. */
export type RevokeOperationDeps = RevokeDeps & { enforce?: EnforceRevocation };

export const revokeEnrollment = operation({
  name: "enrollments.revoke",
  kind: "decide",
  summary: "Revoke the credentials of a peel and close its connection",
  input: v.strictObject({ id, reason: v.optional(reasonField) }),
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
      ...defined({ closed_in_ms: closedInMs }),
    };
  },
});

export const suspendEnrollment = operation({
  name: "enrollments.suspend",
  kind: "decide",
  summary: "Keep a peel off the bus until it is resumed",
  input: v.strictObject({ id, reason: v.optional(reasonField) }),
  output: decided,
  touches: touchesId,
  async run(deps: SuspendOperationDeps, { id, reason = "by an operator" }, call) {
    const operator = operatorOf(call);
    const request = { id, operator, reason };
    const { record, purged } = await suspend(
      { ...deps, ...deps.enforce, ...deps.suspension, log: call.log },
      request,
    );
    announce(call, "suspend", record, operator, { reason, purged });
    return { enrollment: toStored(record) };
  },
});

export const resumeEnrollment = operation({
  name: "enrollments.resume",
  kind: "decide",
  summary: "Let a suspended peel back on the bus",
  input: onlyId,
  output: decided,
  touches: touchesId,
  async run(deps: SuspendOperationDeps, { id }, call) {
    const operator = operatorOf(call);
    const record = await resume({ ...deps, ...deps.enforce, log: call.log }, { id, operator });
    announce(call, "resume", record, operator);
    return { enrollment: toStored(record) };
  },
});

export const clearClone = operation({
  name: "enrollments.clear-clone",
  kind: "decide",
  summary: "Remove the mark that two hosts appear to hold an identity, or that a copy asked to join",
  input: onlyId,
  output: decided,
  touches: touchesId,
  async run(deps: ApplyDeps, { id }, call) {
    const operator = operatorOf(call);
    const record = await applyEvent(deps, id, { type: "clear-clone", operator });
    announce(call, "clear-clone", record, operator);
    return { enrollment: toStored(record) };
  },
});

/** What suspension and its end need: only masters can enforce them on the bus. */
export interface SuspendOperationDeps extends ResumeRecordDeps {
  enforce: EnforceRevocation;
  suspension: SuspensionEffects;
}

export const restoreEnrollment = operation({
  name: "enrollments.restore",
  kind: "decide",
  summary: "Put back the last revision of an enrollment that a master made",
  description: "For a record that others changed. Its state is that of this revision.",
  input: onlyId,
  output: decided,
  touches: touchesId,
  async run({ enrollments }: { enrollments: Enrollments }, { id }, call) {
    const record = await restore(enrollments, id);
    announce(call, "restore", record, operatorOf(call), { state: record.state });
    return { enrollment: toStored(record) };
  },
});

export const discardEnrollment = operation({
  name: "enrollments.discard",
  kind: "decide",
  summary: "Remove an enrollment that no master made",
  input: onlyId,
  output: v.object({ id }),
  touches: touchesId,
  async run({ enrollments }: { enrollments: Enrollments }, { id }, call) {
    await discard(enrollments, id);
    call.note?.({ enrollment_id: id });
    const operator = operatorOf(call);
    call.log.info("enrollment admin operation", { action: "discard", id, operator });
    return { id };
  },
});

/** What the operations on enrollments of operators need. */
export interface OperatorEnrollmentDeps extends SuspendOperationDeps, ShowEnrollmentDeps {
  /** The bucket `revocations`. */
  refused: Pick<Bucket, "entries">;
  revocations: SuspendOperationDeps["revocations"] & RevokeUserDeps["revocations"];
  directory: Directory;
  clock: Clock;
}

/** What the operations of peels that enroll need. */
export interface PeelEnrollmentDeps {
  challenge: GetChallengeDeps;
  challengeTpm: ChallengeTpmDeps;
  enroll: EnrollDeps;
  deliver: DeliverDeps & LearnedKeys;
  recover: RecoverOperationDeps;
  byKey: FindByKeyDeps;
  state: FollowStateDeps;
  clock: Clock;
}
