import * as v from "valibot";
import { SvcError } from "../../../base/errors.ts";
import type { Log } from "../../../base/log.ts";
import { decode, encode } from "../../../base/msgpack.ts";
import type { Bus } from "../../../bus/connect.ts";
import { targetQueue, targetResolveSubject } from "../../../bus/subjects.ts";
import type { Target } from "../../../fleet/targeting/resolve.ts";
import type { Resolver } from "../../../fleet/targeting/resolver.ts";
import { operatorOf } from "./job-message.ts";
import { serveOperators } from "./operator-request.ts";

/** What the bus takes in one message when it does not say, and what is kept free of that. */
const usualPayload = 1024 * 1024;
const spareBytes = 64 * 1024;

const requestSchema = v.object({
  target: v.optional(v.string()),
  targets: v.optional(v.pipe(v.array(v.string()), v.maxLength(100_000))),
  after: v.optional(v.string()),
});

export interface TargetDeps {
  bus: Pick<Bus, "serve"> & { nats: Pick<Bus["nats"], "info"> };
  resolver: Pick<Resolver, "resolveWithLife">;
  log: Log;
}

/**
 * Tells operators whom a target means, without doing anything: a MessagePack map `{target | targets,
 * operator, after?}` in, `{ok: true, total, targets: [{peel_id, alive}], next?}` out, or `{ok: false,
 * error: {code, message}}`. `next` says that there are more: ask again with it as `after`. Of all masters
 * one takes each request.
 */
export function serveTargets({ bus, resolver, log }: TargetDeps): void {
  serveOperators({ bus, log }, targetResolveSubject, targetQueue, async (data, scoped) => {
    const request = decode(data);
    const operator = operatorOf(request);
    const { target, after } = checkRequest(request);
    const found = await resolver.resolveWithLife(target);
    scoped.log.debug("target resolved", { operator, peels: found.length });
    return encodeAnswer(found, after, (bus.nats.info?.max_payload ?? usualPayload) - spareBytes);
  });
}

function encodeAnswer(
  found: readonly { peelId: string; alive: boolean }[],
  after: string | undefined,
  maxBytes: number,
): Uint8Array {
  const from = after === undefined ? 0 : found.findIndex(({ peelId }) => peelId > after);
  const targets: { peel_id: string; alive: boolean }[] = [];
  let bytes = 0;
  for (const { peelId, alive } of from < 0 ? [] : found.slice(from)) {
    bytes += peelId.length + 20;
    if (bytes > maxBytes) break;
    targets.push({ peel_id: peelId, alive });
  }
  const last = targets.at(-1)?.peel_id;
  const next = last === undefined || last === found.at(-1)?.peelId ? undefined : last;
  return encode({ ok: true, total: found.length, targets, next });
}

/** @throws SvcError `bad_request` naming the field */
function checkRequest(request: unknown): { target: Target; after?: string } {
  const parsed = v.safeParse(requestSchema, request);
  if (!parsed.success) {
    const field = v.getDotPath(parsed.issues[0]) ?? "the request";
    throw new SvcError("bad_request", `${field}: expected ${parsed.issues[0].expected ?? "another value"}`);
  }
  const { target: expression, targets: peels, after } = parsed.output;
  if ((expression === undefined) === (peels === undefined)) {
    throw new SvcError("bad_request", "give either target or targets");
  }
  const target = expression === undefined ? { peels: peels ?? [] } : { expression };
  return { target, ...(after === undefined ? {} : { after }) };
}
