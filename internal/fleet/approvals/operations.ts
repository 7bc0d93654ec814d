import * as v from "valibot";
import { type Clock, rfc3339 } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { encode, type Plain } from "../../base/msgpack.ts";
import { described, digest, integer, plain, timestamp, titled } from "../../base/schema.ts";
import { sha256Hex } from "../../base/sha256.ts";
import { content, shownContent } from "../../wire/content.ts";
import type { OperatorRecord } from "../../wire/operator-record.ts";
import { shownReleasedFiles, showReleasedFiles } from "../../wire/released-content.ts";
import { type Call, operation } from "../operation/mod.ts";
import { aboutOf } from "./about.ts";
import type { Approvals } from "./approvals.ts";
import { type ChangesDeps, changesField, changesOf } from "./changes.ts";
import { partyOf } from "./party.ts";
import { type Approval, maxReason, type Party, startOutcomes, stateOf } from "./record.ts";

const summaryFields = {
  id: v.string(),
  operation: described(v.string(), "What was asked for: `jobs.create`"),
  function: v.exactOptional(described(v.string(), "The function that a job, rollout or upgrade runs")),
  target: v.exactOptional(described(v.string(), "The target expression of the request")),
  peels: v.exactOptional(described(integer, "How many peels it is about")),
  about: v.exactOptional(
    described(
      v.string(),
      "Name of what it is about: the peel of an enrollment, an operator, or the id of a rollout",
    ),
  ),
  roles: v.exactOptional(described(v.array(v.string()), "Roles that it gives to an operator")),
  state: described(
    v.picklist(["waiting", "started", "denied", "expired"]),
    "`started`: enough operators agreed; `outcome` is how it went",
  ),
  needs: described(integer, "How many other operators must agree"),
  asked_by: v.string(),
  asked_at: timestamp,
  expires_at: described(timestamp, "Until then others can agree"),
  agreed: described(v.array(v.string()), "Who agreed"),
  rule: described(v.string(), "The rule for which it waits"),
  denied_by: v.exactOptional(v.string()),
  started_at: v.exactOptional(timestamp),
  outcome: v.exactOptional(v.picklist(startOutcomes)),
  reason: v.exactOptional(described(v.string(), "Why it failed, or why it was denied")),
  job: v.exactOptional(described(v.string(), "Id of the job that it started")),
  rollout: v.exactOptional(described(v.string(), "Id of the rollout that it started")),
};
const summary = titled("ApprovalSummary", v.object(summaryFields));
/** What the requester signed. An agreement names its digest, so that it is not valid for another request. */
const signedRequest = v.object({
  subject: described(v.string(), "The subject that it was signed for"),
  envelope: described(v.string(), "The signed envelope, base64"),
});
const operatorRecord = titled(
  "OperatorRecord",
  v.object({
    name: v.string(),
    public_key: v.string(),
    roles: v.array(v.string()),
    disabled: v.boolean(),
    expires_at: v.exactOptional(timestamp),
    version: integer,
  }),
);
const view = titled(
  "Approval",
  v.object({
    ...summaryFields,
    request: described(plain, "The request"),
    record: v.exactOptional(described(operatorRecord, "What the signed record of an operator in it says")),
    request_digest: described(
      v.string(),
      "SHA-256 of the signed request, or of its fields, in hexadecimal, as in the audit",
    ),
    signed: v.exactOptional(described(signedRequest, "What the requester signed; absent without a key")),
    targets: v.exactOptional(described(v.array(v.string()), "Encoded ids of the peels that it is about")),
    content: v.exactOptional(
      described(shownContent, "The state files that run, whatever is published later"),
    ),
    released: v.exactOptional(
      described(
        shownReleasedFiles,
        "What those of its peels run that obey operators only, where they run other state files",
      ),
    ),
    changes: v.exactOptional(
      described(changesField, "How the files differ from what the peels ran last, while the request waits"),
    ),
    changes_left_out: v.exactOptional(described(integer, "Groups of peels that were not compared")),
    request_id: v.exactOptional(described(v.string(), "Id of the request, as in the logs of masters")),
  }),
);

/** What the operations on requests that wait need. */
export interface ApprovalDeps {
  approvals: Pick<Approvals, "list" | "find" | "approve" | "deny">;
  /** What compares the files of a request. */
  changes: Omit<ChangesDeps, "clock">;
  /** The encoded ID of the peel of an enrollment; `undefined` for one that is not known. */
  peelOf(enrollment: string): string | undefined;
  clock: Pick<Clock, "now" | "monotonic">;
}

const id = described(v.string(), "Its id: `apr-` and a KSUID");
const touches = ({ id }: { id: string }) => ({ approval: id });

export const listApprovals = operation({
  name: "approvals.list",
  kind: "read",
  summary: "List the requests that wait for other operators, or waited, newest first",
  output: v.object({ approvals: v.array(summary) }),
  async run(deps: ApprovalDeps) {
    return { approvals: (await deps.approvals.list()).map((one) => summarize(deps, one)) };
  },
});

export const getApproval = operation({
  name: "approvals.show",
  kind: "read",
  summary: "Get a request that waits for other operators, or waited",
  input: v.strictObject({
    id,
    diff: v.optional(described(v.boolean(), "With the differences of the files, line by line"), false),
  }),
  output: v.object({ approval: view }),
  touches,
  async run(deps: ApprovalDeps, { id, diff }) {
    const { approvals, changes, clock } = deps;
    const found = await approvals.find(id);
    const approval = show(deps, found);
    if (approval.state !== "waiting") return { approval };
    return { approval: { ...approval, ...(await changesOf({ ...changes, clock }, found, diff)) } };
  },
});

export const approveRequest = operation({
  name: "approvals.approve",
  kind: "decide",
  summary: "Agree to the request of another operator",
  description: "The last agreement that it needs starts it in the name of the requester.",
  input: v.strictObject({
    id,
    request_digest: v.optional(
      described(
        digest,
        "SHA-256 of the signed envelope that is agreed to, 64 hexadecimal digits; peels that insist on operators count no agreement without it",
      ),
    ),
    signed_id: v.optional(
      described(
        v.string(),
        "The one of the `ids` in the signed envelope that is agreed to; a request about another one is refused",
      ),
    ),
  }),
  output: v.object({ approval: view }),
  touches,
  async run(deps: ApprovalDeps, { id, request_digest: digest, signed_id: signedId }, { caller }: Call) {
    const by = partyOf(caller, deps.clock.now());
    return { approval: show(deps, await deps.approvals.approve(id, by, defined({ digest, signedId }))) };
  },
});

export const denyRequest = operation({
  name: "approvals.deny",
  kind: "decide",
  summary: "Deny the request of an operator that waits, or withdraw your own",
  input: v.strictObject({
    id,
    reason: v.optional(
      described(
        v.pipe(v.string(), v.maxLength(maxReason, `must have at most ${maxReason} characters`)),
        "Why, as free text; the requester and the audit see it",
      ),
    ),
  }),
  output: v.object({ approval: view }),
  touches,
  async run(deps: ApprovalDeps, { id, reason }, { caller }: Call) {
    const by = partyOf(caller, deps.clock.now());
    return { approval: show(deps, await deps.approvals.deny(id, by, reason)) };
  },
});

type Shown = Pick<ApprovalDeps, "peelOf" | "clock">;

function summarize({ peelOf, clock }: Shown, approval: Approval): v.InferOutput<typeof summary> {
  const { id, operation: name, needs, asker, agreed, rule, deniedBy, startedAt, outcome, reason } = approval;
  const { job, rollout, input, targets } = approval;
  const { function: called, target } = Object(input) as { function?: unknown; target?: unknown };
  const { about, operator } = aboutOf(approval, peelOf);
  const isGiven = operator !== undefined && operator.disabled !== true;
  return {
    ...{ id, operation: name, state: stateOf(approval, clock.now()), needs, rule },
    ...defined({
      function: typeof called === "string" ? called : undefined,
      target: typeof target === "string" ? target : undefined,
      peels: targets?.length,
      about,
      roles: isGiven ? [...operator.roles] : undefined,
    }),
    asked_by: asker.name,
    asked_at: rfc3339(asker.at),
    expires_at: rfc3339(approval.expiresAt),
    agreed: agreed.map((one) => one.name),
    ...defined({
      denied_by: deniedBy,
      started_at: startedAt === undefined ? undefined : rfc3339(startedAt),
      outcome,
      reason,
      job,
      rollout,
    }),
  };
}

/** Bytes, such as the digest of the targets, as hexadecimal digits. */
function readable(input: Plain): Plain {
  if (typeof input !== "object" || input === null || Array.isArray(input)) return input;
  if (input instanceof Uint8Array) return Buffer.from(input).toString("hex");
  return Object.fromEntries(Object.entries(input).map(([name, value]) => [name, readable(value as Plain)]));
}

function show(deps: Shown, approval: Approval): v.InferOutput<typeof view> {
  const { operator } = aboutOf(approval, deps.peelOf);
  const { input, targets, content: files, released, requestId, asker } = approval;
  return {
    ...summarize(deps, approval),
    request: readable(input),
    request_digest: sha256Hex(asker.envelope ?? encode(input)),
    ...defined({
      record: operator && showRecord(operator),
      targets: targets === undefined ? undefined : [...targets],
      content: files && content.show(files),
      released: released && showReleasedFiles(released),
      request_id: requestId,
      signed: signedBy(asker),
    }),
  };
}

function showRecord({
  name,
  publicKey,
  roles,
  disabled,
  expiresAt,
  version,
}: OperatorRecord): v.InferOutput<typeof operatorRecord> {
  return {
    ...{ name, public_key: publicKey, roles: [...roles], disabled: disabled === true, version },
    ...defined({ expires_at: expiresAt === undefined ? undefined : rfc3339(expiresAt) }),
  };
}

function signedBy({ subject, envelope }: Party): v.InferOutput<typeof signedRequest> | undefined {
  if (subject === undefined || envelope === undefined) return undefined;
  return { subject, envelope: Buffer.from(envelope).toString("base64") };
}
