import * as v from "valibot";
import { SvcError } from "../../../base/errors.ts";
import { isId } from "../../../base/id.ts";
import { encode } from "../../../base/msgpack.ts";
import { rolloutStatuses } from "../../../fleet/rollout/record.ts";
import type { RolloutSummary, WaveView } from "../../../fleet/rollout/show.ts";
import { openReply } from "./message.ts";

// What operators ask of masters about rollouts over the bus, and the answers.

const maxListed = 1_000;

const isMap = (value: unknown) => typeof value === "object" && value !== null;
const rolloutId = v.pipe(
  v.string(),
  v.check((text) => isId("rol", text)),
);
const commandRequest = v.object({ id: rolloutId });
const listRequest = v.object({
  limit: v.optional(v.pipe(v.number(), v.integer(), v.minValue(1), v.maxValue(maxListed)), 20),
  status: v.optional(v.picklist(rolloutStatuses)),
  cursor: v.optional(rolloutId),
});
const startReply = v.object({
  ok: v.literal(true),
  id: v.optional(v.string()),
  waves: v.array(v.custom<WaveView>(isMap)),
  max_failures: v.number(),
});
const listReply = v.object({
  ok: v.literal(true),
  rollouts: v.array(v.custom<RolloutSummary>(isMap)),
  next: v.optional(v.string()),
});
const commandReply = v.object({ ok: v.literal(true), rollout: v.custom<RolloutSummary>(isMap) });

/** A rollout that was started, or with `dry_run` only planned: then it has no id. */
export interface StartedRollout {
  id?: string;
  /** Each with its part of the frozen list. */
  waves: WaveView[];
  max_failures: number;
}

export function encodeStartReply(started: StartedRollout): Uint8Array {
  return encode({ ok: true, ...started });
}

/** @throws SvcError what the master answered */
export function decodeStartReply(bytes: Uint8Array): StartedRollout {
  const { ok: _, id, ...rest } = readReply(startReply, bytes);
  return { ...rest, ...(id === undefined ? {} : { id }) };
}

/** Which rollout is meant. @throws SvcError `not_found` for what is no id of one */
export function decodeRolloutCommand(request: unknown): string {
  const parsed = v.safeParse(commandRequest, request);
  if (parsed.success) return parsed.output.id;
  throw new SvcError("not_found", "no rollout with this id: see svc rollout list");
}

export function encodeRolloutReply(rollout: RolloutSummary): Uint8Array {
  return encode({ ok: true, rollout });
}

/** @throws SvcError what the master answered */
export function decodeRolloutReply(bytes: Uint8Array): RolloutSummary {
  return readReply(commandReply, bytes).rollout;
}

/** Which rollouts are asked for. @throws SvcError `bad_request` naming the field */
export function decodeRolloutListRequest(request: unknown): v.InferOutput<typeof listRequest> {
  const parsed = v.safeParse(listRequest, request);
  if (parsed.success) return parsed.output;
  const field = v.getDotPath(parsed.issues[0]) ?? "the request";
  throw new SvcError("bad_request", `${field}: ${field === "limit" ? `1 to ${maxListed}` : "not valid"}`);
}

/** @param next the cursor of the next page, when there is one */
export function encodeRolloutListReply(rollouts: readonly RolloutSummary[], next?: string): Uint8Array {
  return encode({ ok: true, rollouts, next });
}

/** @throws SvcError what the master answered */
export function decodeRolloutListReply(bytes: Uint8Array): { rollouts: RolloutSummary[]; next?: string } {
  const { rollouts, next } = readReply(listReply, bytes);
  return { rollouts, ...(next === undefined ? {} : { next }) };
}

function readReply<T>(schema: v.GenericSchema<unknown, T>, bytes: Uint8Array): T {
  const parsed = v.safeParse(schema, openReply(bytes));
  if (!parsed.success) throw new SvcError("internal", "the master sent a malformed reply");
  return parsed.output;
}
