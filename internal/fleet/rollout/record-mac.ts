import { rfc3339 } from "../../base/clock.ts";
import { sha256 } from "../../base/sha256.ts";
import { isVouched, type RecordMac } from "../../identity/mod.ts";
import { content } from "../../wire/content.ts";
import { encodeTargets, type Rollout } from "./record.ts";

// The record of a rollout and its frozen list are stored on the bus, and masters create jobs from them. A MAC
// of the master that accepted the request protects the request and its peels. It does not protect the
// progress, because every master writes that.

/** The digest of a frozen list: a list may be long, and is compared at every step. */
export function digestOfTargets(targets: readonly string[]): Uint8Array {
  return sha256(encodeTargets(targets));
}

/** What tells that a master took the request for this rollout on these peels. */
export function rolloutMac(
  mac: RecordMac,
  rollout: Omit<Rollout, "voucher">,
  targetsDigest: Uint8Array,
): Uint8Array {
  const { id, function: name, args, target, metadata, plan, createdBy, approvedBy, requestId } = rollout;
  const { bounds, waveWaitMs, maxFailures, timeoutMs, check } = plan;
  const request = [
    [id, name, args, target ?? null, metadata],
    [bounds, waveWaitMs, maxFailures, timeoutMs, rfc3339(plan.deadline)],
    check === undefined ? null : [check.function, check.args, check.timeoutMs],
    [rfc3339(rollout.createdAt), createdBy, requestId ?? null],
    targetsDigest,
  ];
  const agreed = approvedBy === undefined ? [] : [approvedBy];
  const files = [rollout.content, rollout.released].flatMap((one) =>
    one === undefined ? [] : content.write(one),
  );
  return mac("rollout", [...request, ...agreed, ...files]);
}

/** Whether a master took the request for this rollout on these peels. */
export function isGenuineRollout(mac: RecordMac, rollout: Rollout, targetsDigest: Uint8Array): boolean {
  return isVouched(mac, rollout.id, rollout.voucher, (one) => rolloutMac(one, rollout, targetsDigest));
}
