import * as v from "valibot";
import { durationPattern } from "../../base/duration.ts";
import { described, describedDigest, plainMap, titled } from "../../base/schema.ts";
import { maxApprovals } from "../../wire/call.ts";
import { oneTarget, targetFields } from "../targeting/mod.ts";

/** What the requester signs about peels and others, so that no master can change it. */
export const frozenFields = {
  targets_digest: v.optional(
    describedDigest(
      "Root of the Merkle tree over the encoded ids of the peels that are meant, as 64 hexadecimal digits; when the target matches others, nothing is started",
    ),
  ),
  snapshot: v.optional(
    describedDigest(
      "Digest of the state files that are meant, as 64 hexadecimal digits, for a function that uses them; when others are published, nothing is started",
    ),
  ),
  unreleased: v.optional(
    described(
      v.boolean(),
      "Whether peels that obey operators only run these state files although nobody released them; counts when an operator signed it who may release",
    ),
  ),
  approvals: v.optional(
    described(
      v.pipe(v.number(), v.integer(), v.minValue(0), v.maxValue(maxApprovals)),
      "How many others must agree at least, whatever the roles say",
    ),
  ),
};

/** Peels that report what a command writes: each sends two messages a second. */
export const maxFollowed = 16;

/** A dispatch request. */
export const jobRequestSchema = titled(
  "JobRequest",
  v.strictObject({
    ...targetFields,
    function: v.pipe(
      v.string(),
      v.metadata({ description: "`module.function`, such as `test.ping`", minLength: 1 }),
    ),
    args: v.optional(described(plainMap, "Arguments of the function by name")),
    timeout: v.optional(
      v.pipe(
        v.string(),
        v.metadata({
          description: "How long a peel may take, `90s` or `1h30m`, at least 1ms and at most 24h",
          pattern: durationPattern,
          default: "1m",
        }),
      ),
    ),
    metadata: v.optional(described(plainMap, "Stored with the job")),
    follow: v.optional(
      described(
        v.boolean(),
        `Whether the peels report what a command writes while it runs, to those who follow the job; at most ${maxFollowed} peels`,
      ),
    ),
    ...frozenFields,
  }),
  oneTarget,
);
export type JobRequest = v.InferOutput<typeof jobRequestSchema>;
