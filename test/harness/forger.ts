import { systemClock } from "../../internal/base/clock.ts";
import { newId, systemRandom } from "../../internal/base/id.ts";
import type { Plain } from "../../internal/base/msgpack.ts";
import { sha256 } from "../../internal/base/sha256.ts";
import type { AssetName } from "../../internal/bus/assets/assets.ts";
import { keySubject } from "../../internal/bus/subjects/subjects.ts";
import { type Approval, encodeApproval } from "../../internal/fleet/approvals/record.ts";
import { encodeJob, type Job } from "../../internal/fleet/jobs/records/record.ts";
import { withJobMac } from "../../internal/fleet/jobs/records/record-mac.ts";
import {
  encodeRollout,
  encodeTargets,
  type Rollout,
  targetsKey,
} from "../../internal/fleet/rollout/record.ts";
import { digestOfTargets, rolloutMac } from "../../internal/fleet/rollout/record-mac.ts";
import { encodeToken } from "../../internal/fleet/tokens/record.ts";
import { newKeyPair } from "../../internal/identity/nkey.ts";
import { createRecordMac } from "../../internal/identity/record-mac.ts";
import { encodeOperator, signOperator } from "../../internal/wire/operator-record.ts";
import type { Message } from "./intruder.ts";
import type { TestOperator } from "./operators.ts";
import { recordOf } from "./registered.ts";

const hourMs = 3_600_000;

/** Records that are right in every field, made with keys of their own by someone who has no key of the fleet. */
export function forgedRecords(options: {
  forger: TestOperator;
  /** Operators whose records are replaced. */
  others: readonly TestOperator[];
  /** The text of a token. */
  token: string;
  /** What a forged job would do on a peel. */
  runs: { function: string; args: Record<string, Plain>; target: string };
}): Partial<Record<AssetName, readonly Message[]>> {
  const { forger, others, token, runs } = options;
  const mac = createRecordMac(newKeyPair("account", systemRandom));
  const now = systemClock.now();
  const in_ = (bucket: string, key: string, data: Uint8Array): Message => ({
    subject: keySubject(bucket, key),
    data: Uint8Array.from(data),
  });
  const { target, ...called } = runs;
  const job: Job = {
    ...{ jid: newId("job", now, systemRandom), ...called, targets: [target], metadata: {} },
    ...{ timeoutMs: 60_000, createdAt: now, createdBy: "root", approvedBy: ["ben"], deadline: now + hourMs },
  };
  const rollout: Rollout = {
    ...{
      id: newId("rol", now, systemRandom),
      ...called,
      target,
      metadata: {},
      status: "running",
      step: "ready",
    },
    plan: { bounds: [1], waveWaitMs: 0, maxFailures: 0, timeoutMs: 60_000, deadline: now + hourMs },
    ...{
      waves: [],
      failures: 0,
      forbidden: [],
      token: 1,
      heartbeatAt: now,
      createdAt: now,
      createdBy: "root",
    },
  };
  const voucher = rolloutMac(mac, rollout, digestOfTargets([target]));
  // Others agreed, and no master has started it yet: the one that finds it does.
  const approval: Approval = {
    ...{
      id: newId("apr", now, systemRandom),
      operation: "jobs.create",
      input: { ...called, target },
      needs: 1,
    },
    ...{
      targets: [target],
      rule: "a rule",
      state: "started",
      startedAt: now,
      claimedAt: 0,
      expiresAt: now + hourMs,
    },
    asker: { name: "root", person: "root", roles: ["admin"], door: "bus", at: now },
    agreed: [{ name: "ben", person: "ben", roles: ["admin"], door: "bus", at: now }],
  };
  const signed = [forger, ...others].map((who) =>
    signOperator(recordOf(who, { roles: ["admin"], version: 99 }), forger.key),
  );
  return {
    operators: [
      ...signed,
      // In the name of an administrator, whose key the signature is not made with.
      ...signed.map((record) => ({ ...record, key: options.others[0]?.key.publicKey ?? "" })),
    ].map((record) => in_("operators", record.name, encodeOperator(record))),
    tokens: [
      in_(
        "tokens",
        "forged",
        encodeToken(mac, {
          ...{ id: newId("tok", now, systemRandom), name: "forged", digest: sha256(token), roles: ["admin"] },
          ...{ createdBy: "root", creator: "registered", createdAt: now, expiresAt: now + hourMs },
        }),
      ),
    ],
    jobs: [in_("jobs", job.jid, encodeJob(withJobMac(mac, job)))],
    rollouts: [
      in_("rollouts", targetsKey(rollout.id), encodeTargets([target])),
      in_("rollouts", rollout.id, encodeRollout({ ...rollout, voucher })),
    ],
    approvals: [in_("approvals", approval.id, encodeApproval(mac, approval))],
  };
}
