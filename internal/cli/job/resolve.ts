import * as v from "valibot";
import { SvcError } from "../../base/errors.ts";
import type { Bus } from "../../bus/connect.ts";
import { targetResolveSubject } from "../../bus/subjects.ts";
import { openReply } from "../../master/doors/bus/message.ts";
import { askAboutJobs } from "./ask.ts";

const page = v.object({
  ok: v.literal(true),
  targets: v.array(v.object({ peel_id: v.string(), alive: v.boolean() })),
  next: v.optional(v.string()),
});

/** A peel that a target means (encoded id), and whether it is connected. */
export type ResolvedPeel = v.InferOutput<typeof page>["targets"][number];

/**
 * Asks a master whom a target means.
 *
 * @throws SvcError `not_found` when it is nobody, and what the master says about the expression
 */
export async function resolvePeels(bus: Bus, target: string): Promise<ResolvedPeel[]> {
  const found: ResolvedPeel[] = [];
  for (let after: string | undefined; ; ) {
    const request = { target, ...(after === undefined ? {} : { after }) };
    const { targets, next } = await askAboutJobs(bus, targetResolveSubject, request, readPage);
    found.push(...targets);
    after = next;
    if (after === undefined) break;
  }
  if (found.length > 0) return found;
  throw new SvcError("not_found", "no peel matches the target: see svc enroll list --state all");
}

/** @throws SvcError what the master answered */
function readPage(bytes: Uint8Array): v.InferOutput<typeof page> {
  const parsed = v.safeParse(page, openReply(bytes));
  if (parsed.success) return parsed.output;
  throw new SvcError("internal", "the master sent a malformed reply");
}
