import { SvcError } from "../../base/errors.ts";
import { encode, type Plain } from "../../base/msgpack.ts";
import { checkCall } from "../../host/modules/mod.ts";
import type { ScheduleEntry } from "../../program/config/mod.ts";
import type { Call } from "../../wire/call.ts";
import { maxArgsBytes } from "../../wire/scheduled-run.ts";

/** The call of an entry. */
export function callOf({ module, args }: Pick<ScheduleEntry, "module" | "args">): Call {
  // The arguments come from YAML, so they are plain data.
  return { function: module, args: args as Record<string, Plain> };
}

/**
 * Checks that each entry names a function and has valid arguments, so that a peel does not start with a
 * schedule that cannot run.
 *
 * @throws SvcError `bad_request` naming the entry
 */
export function checkSchedule(entries: readonly ScheduleEntry[]): void {
  for (const entry of entries) {
    const call = callOf(entry);
    try {
      if (encode(call.args).length > maxArgsBytes)
        throw new SvcError("bad_request", "args: larger than 64 KiB");
      checkCall(call.function, call.args);
    } catch (thrown) {
      if (!(thrown instanceof SvcError)) throw thrown;
      const name = JSON.stringify(entry.name);
      throw new SvcError("bad_request", `schedule: entry ${name}: ${thrown.message}`, { cause: thrown });
    }
  }
}
