import { SvcError } from "../../base/errors.ts";
import { isId, timeOfId } from "../../base/id.ts";
import { decode, encode } from "../../base/msgpack.ts";
import { sha256Hex } from "../../base/sha256.ts";
import type { Bucket } from "../../bus/storage/mod.ts";
import { decodeRollout, isLive, type Rollout } from "./record.ts";

/** A rollout needs much less time between taking its place and being stored. */
const startingMs = 10_000;

/**
 * Takes the place of a rollout with this function on these peels, so that a repeated request does not start
 * it twice.
 *
 * @throws SvcError `conflict` while another rollout has it
 */
export async function claimRollout(
  rollouts: Bucket,
  { id, createdAt, ...rest }: Pick<Rollout, "id" | "createdAt" | "function" | "args">,
  targets: readonly string[],
): Promise<void> {
  const key = claimKey(rest, targets);
  const value = encode(id);
  if ((await rollouts.create(key, value)) !== undefined) return;
  const before = await rollouts.get(key);
  if (before !== undefined) {
    const other = holderOf(before.value);
    if (other !== undefined && other !== id && (await isBusy(rollouts, other, createdAt))) {
      throw new SvcError("conflict", `${other} does the same on the same peels`);
    }
    if ((await rollouts.update(key, value, before.revision)) !== undefined) return;
  }
  throw new SvcError("conflict", "the same was started at the same time");
}

/** Leaves the place of a rollout, unless another has it by now. */
export async function releaseClaim(
  rollouts: Bucket,
  rollout: Pick<Rollout, "id" | "function" | "args">,
  targets: readonly string[],
): Promise<void> {
  const entry = await rollouts.get(claimKey(rollout, targets));
  if (entry === undefined || holderOf(entry.value) !== rollout.id) return;
  await rollouts.remove(entry.key, entry.revision);
}

async function isBusy(rollouts: Bucket, id: string, at: number): Promise<boolean> {
  const entry = await rollouts.get(id);
  return entry === undefined ? at - timeOfId(id) < startingMs : isLive(decodeRollout(entry.value));
}

/** The rollout that has a place. */
function holderOf(value: Uint8Array): string | undefined {
  try {
    const id = decode(value);
    return typeof id === "string" && isId("rol", id) ? id : undefined;
  } catch {
    // A damaged place does not keep a rollout from starting.
    return undefined;
  }
}

/** With a dot, so that a watch of the records does not see it. */
function claimKey({ function: name, args }: Pick<Rollout, "function" | "args">, targets: readonly string[]) {
  return `place.${sha256Hex(encode([name, args, targets]))}`;
}
