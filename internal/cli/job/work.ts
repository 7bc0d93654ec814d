import { defined } from "../../base/defined.ts";
import type { JobRequest } from "../../fleet/jobs/mod.ts";
import { filesOfCall } from "../../host/modules/mod.ts";

/** What is run: a function with its arguments, where, and for how long. */
export type Work = Pick<
  JobRequest,
  "function" | "args" | "timeout" | "target" | "targets" | "metadata" | "follow" | "snapshot" | "unreleased"
>;

/** The same as a question about roles. */
export function questionOf({ function: name, args = {}, target, targets }: Work) {
  return {
    ...{ kind: "jobs", action: "run", function: name, ...filesOfCall(name, args) },
    ...defined({ target, targets }),
  };
}
