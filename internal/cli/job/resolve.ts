import * as v from "valibot";
import { openReply } from "../../admin/message.ts";
import { SvcError } from "../../base/errors.ts";
import type { Bus } from "../../bus/connect.ts";
import { askMasters } from "./ask.ts";

const targetResolveSubject = "svc.target.resolve";

const reply = v.object({
  ok: v.literal(true),
  targets: v.array(v.object({ peel_id: v.string(), alive: v.boolean() })),
});

/** A peel that a target means (encoded id), and whether it is connected. */
export type ResolvedPeel = v.InferOutput<typeof reply>["targets"][number];

/**
 * Asks a master whom a target means.
 *
 * @throws SvcError `not_found` when it is nobody, and what the master says about the expression
 */
export async function resolvePeels(bus: Bus, target: string): Promise<ResolvedPeel[]> {
  const parsed = v.safeParse(reply, openReply(await askMasters(bus, targetResolveSubject, { target })));
  if (!parsed.success) throw new SvcError("internal", "the master sent a malformed reply");
  const { targets } = parsed.output;
  if (targets.length > 0) return targets;
  throw new SvcError("not_found", "no peel matches the target: see svc enroll list --state all");
}
