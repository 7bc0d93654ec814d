import { defined } from "../../base/defined.ts";
import { isId } from "../../base/id.ts";
import type { Bucket } from "../../bus/storage/mod.ts";
import { functionNamed } from "../../host/modules/mod.ts";
import { decodeJob } from "../jobs/records/mod.ts";
import type { RoleGateDeps } from "../roles/mod.ts";
import { decodeRollout, loadTargets } from "../rollout/mod.ts";

/** Reads the functions and the peels of a stored job or rollout, which roles judge before it is stopped or resumed. */
export function readStoredWork({
  jobs,
  rollouts,
}: {
  jobs: Pick<Bucket, "get">;
  rollouts: Bucket;
}): Pick<RoleGateDeps, "jobOf" | "rolloutOf"> {
  return {
    async jobOf(jid) {
      const entry = isId("job", jid) ? await jobs.get(jid) : undefined;
      if (entry === undefined) return undefined;
      const job = decodeJob(entry.value);
      const environment = job.content?.environment;
      return { functions: [job.function], peels: job.targets, ...defined({ environment }) };
    },
    async rolloutOf(id) {
      const entry = isId("rol", id) ? await rollouts.get(id) : undefined;
      if (entry === undefined) return undefined;
      const { plan, ...rollout } = decodeRollout(entry.value);
      const check = plan.check === undefined ? [] : [plan.check.function];
      const environment = rollout.content?.environment;
      const functions = [rollout.function, ...check];
      return { functions, peels: await loadTargets(rollouts, id), ...defined({ environment }) };
    },
  };
}

/** Whether the arguments of a function contain no secrets. A function that this version does not know may take some. */
export function hasPlainArgs(name: string): boolean {
  try {
    const { plainArgs, args } = functionNamed(name);
    return plainArgs === true || Object.keys(args).length === 0;
  } catch {
    return false;
  }
}
