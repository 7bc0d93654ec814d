import type { Plain } from "../../base/msgpack.ts";

/** What made a job: a request, a peel by its own schedule, a rollout for a wave, or a rule. */
export const jobSources = ["operator", "schedule", "rollout", "reactor"] as const;
export type JobSource = (typeof jobSources)[number];

/**
 * Where a job comes from. A record of an earlier version, or one that an earlier version wrote last, does not say it;
 * then it follows from what masters write into such jobs. It is for people: no decision depends on it.
 */
export function sourceOf({
  source,
  schedule,
  createdBy,
  metadata,
}: {
  source?: JobSource;
  schedule?: string;
  createdBy: string;
  metadata: Readonly<Record<string, Plain>>;
}): JobSource {
  if (schedule !== undefined) return "schedule";
  if (source !== undefined) return source;
  if (createdBy.startsWith("reactor:")) return "reactor";
  return typeof metadata.rollout === "string" && typeof metadata.wave === "string" ? "rollout" : "operator";
}
