import { SvcError } from "../../base/errors.ts";
import { encode, type Plain } from "../../base/msgpack.ts";
import type { Call } from "../../fleet/jobs/call.ts";
import { maxArgsBytes } from "../../fleet/jobs/scheduled.ts";
import { checkCall } from "../../host/modules/registry.ts";
import type { ScheduleEntry } from "../../program/config/schedule.ts";

/** What an entry runs. */
export function callOf({ module, args }: Pick<ScheduleEntry, "module" | "args">): Call {
  // The arguments were read from YAML, which knows nothing that is not plain.
  return { function: module, args: args as Record<string, Plain> };
}

/**
 * Checks that each entry names a function and gives it arguments it takes, so that no peel starts with a
 * schedule that can never run.
 *
 * @throws SvcError `bad_request` naming the entry
 */
export function checkSchedule(entries: readonly ScheduleEntry[]): void {
  for (const entry of entries) {
    const call = callOf(entry);
    try {
      if (encode(call.args).length > maxArgsBytes)
        throw new SvcError("bad_request", "args have more than 64 KiB");
      checkCall(call.function, call.args);
    } catch (thrown) {
      if (!(thrown instanceof SvcError)) throw thrown;
      const name = JSON.stringify(entry.name);
      throw new SvcError("bad_request", `schedule: entry ${name}: ${thrown.message}`, { cause: thrown });
    }
  }
}
