import { type Clock, rfc3339 } from "../../base/clock.ts";
import { attempt, describeError, SvcError } from "../../base/errors.ts";
import { type CallContext, checkCall, FunctionFailure, functionNamed } from "../../host/modules/mod.ts";
import type { Call } from "../../wire/call.ts";
import type { JobReturn } from "../../wire/return.ts";

/** Runs a function. It never throws: any failure is in the return. */
export async function execute(call: Call, context: CallContext): Promise<JobReturn> {
  const finish = stopwatch(context.clock);
  try {
    const value = await checkCall(call.function, call.args).run(call.args, context);
    return finish({ success: true, retcode: 0, return: value });
  } catch (thrown) {
    if (thrown instanceof FunctionFailure) {
      const { message: error, retcode, value } = thrown;
      return finish({ success: false, retcode, return: value, error });
    }
    const error = thrown instanceof SvcError ? thrown.message : describeError(thrown);
    return finish({ success: false, retcode: 1, error });
  }
}

/** Whether a call changes nothing. A call of an unknown function fails, so it changes nothing. */
export function isReadOnly(call: Call): boolean {
  return attempt(() => functionNamed(call.function).readOnly === true, true);
}

function stopwatch(clock: Clock) {
  const startedAt = clock.now();
  const started = clock.monotonic();
  return (result: Omit<JobReturn, "started_at" | "duration_ms">): JobReturn => ({
    ...result,
    started_at: rfc3339(startedAt),
    duration_ms: Math.round(clock.monotonic() - started),
  });
}
