import * as v from "valibot";
import { described, plainMap, titled } from "../operation/mod.ts";
import { targetFields } from "../targeting/mod.ts";

/** A dispatch request. */
export const jobRequestSchema = titled(
  "JobRequest",
  v.strictObject({
    ...targetFields,
    function: described(v.string(), "`module.function`, such as `test.ping`"),
    args: v.optional(described(plainMap, "Arguments of the function by name")),
    timeout: v.optional(
      v.pipe(
        v.string(),
        v.metadata({ description: "How long a peel may take, `90s` or `1h30m`, at most 24h", default: "1m" }),
      ),
    ),
    metadata: v.optional(described(plainMap, "Stored with the job")),
  }),
);
export type JobRequest = v.InferOutput<typeof jobRequestSchema>;
