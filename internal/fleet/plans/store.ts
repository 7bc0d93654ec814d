import type { Clock } from "../../base/clock.ts";
import { SvcError } from "../../base/errors.ts";
import { sha256Hex } from "../../base/sha256.ts";
import { type BlobStore, type Bucket, readBlob } from "../../bus/storage/mod.ts";
import { type PlanRecord, planRecord } from "./record.ts";

/** The longest part: one message of the bus. */
export const maxPartBytes = 512 * 1024;

/** Where plans are kept, for a day. */
export interface PlanStore {
  /** @throws SvcError `not_found`, `storage` */
  get(id: string): Promise<Found>;
  create(plan: PlanRecord): Promise<Found>;
  /** @throws SvcError `conflict` when another master changed it meanwhile */
  update(found: Found, changes: Partial<PlanRecord>): Promise<Found>;
  /** Every one that is being made. */
  making(): Promise<PlanRecord[]>;
  /** Stores bytes in parts. @returns their digests */
  putParts(bytes: Uint8Array): Promise<Uint8Array[]>;
  /** @throws SvcError `not_found` when it is gone, `storage` */
  part(digest: Uint8Array): Promise<Uint8Array>;
}

export interface Found {
  readonly plan: PlanRecord;
  readonly revision: number;
}

/** A plan that nobody touched for this long is no longer made: its master ended, or its uploader. */
const idleMs = 60_000;

export function openPlanStore({
  bucket,
  blobs,
  clock,
}: {
  bucket: Pick<Bucket, "get" | "create" | "update" | "entries">;
  blobs: Pick<BlobStore, "put" | "get">;
  clock: Pick<Clock, "now">;
}): PlanStore {
  const put = async (bytes: Uint8Array) => {
    const digest = sha256Hex(bytes);
    await blobs.put(digest, bytes);
    return new Uint8Array(Buffer.from(digest, "hex"));
  };
  const isFresh = ({ updatedAt }: PlanRecord) => clock.now() - updatedAt < idleMs;
  return {
    async get(id) {
      const entry = await bucket.get(id);
      const plan = entry && planRecord.decodeOrNothing(entry.value);
      if (entry === undefined || plan === undefined) {
        throw new SvcError("not_found", `the plan ${id} does not exist: plans are kept for 24 hours`);
      }
      if ((plan.state === "uploading" || plan.state === "compiling") && !isFresh(plan)) {
        const problem = `nothing happened to it for ${idleMs / 1000} s: make it again`;
        return { plan: { ...plan, state: "failed", problem }, revision: entry.revision };
      }
      return { plan, revision: entry.revision };
    },
    async create(plan) {
      const revision = await bucket.create(plan.id, planRecord.encode(plan));
      if (revision === undefined) throw new SvcError("conflict", `the plan ${plan.id} exists`);
      return { plan, revision };
    },
    async update({ plan, revision }, changes) {
      const changed = { ...plan, ...changes, updatedAt: clock.now() };
      const next = await bucket.update(plan.id, planRecord.encode(changed), revision);
      if (next === undefined) throw new SvcError("conflict", `the plan ${plan.id} was changed meanwhile`);
      return { plan: changed, revision: next };
    },
    async making() {
      const entries = await bucket.entries();
      return entries.flatMap(({ value }) => {
        const plan = planRecord.decodeOrNothing(value);
        return plan?.state === "compiling" && isFresh(plan) ? [plan] : [];
      });
    },
    async putParts(bytes) {
      const parts: Uint8Array[] = [];
      for (let at = 0; at === 0 || at < bytes.length; at += maxPartBytes) {
        parts.push(await put(bytes.subarray(at, at + maxPartBytes)));
      }
      return parts;
    },
    async part(digest) {
      const data = await readBlob(blobs, Buffer.from(digest).toString("hex"));
      if (data !== undefined) return data;
      throw new SvcError("not_found", "a part of the plan is no longer stored: make the plan again");
    },
  };
}
