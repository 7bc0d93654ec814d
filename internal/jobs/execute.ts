import * as v from "valibot";
import { type Clock, rfc3339 } from "../base/clock.ts";
import { describeError, SvcError } from "../base/errors.ts";
import { decode, type Plain } from "../base/msgpack.ts";
import { checkCall } from "../modules/registry.ts";
import type { JobReturn } from "./record.ts";

const body = v.object({
  function: v.string(),
  args: v.record(
    v.string(),
    v.custom<Plain>(() => true),
  ),
});

/** Runs the function a command asks for. It never throws: whatever goes wrong is in the return. */
export async function execute(commandBody: Uint8Array, clock: Clock): Promise<JobReturn> {
  const startedAt = clock.now();
  const started = clock.monotonic();
  const finish = (result: Pick<JobReturn, "success" | "retcode" | "return" | "error">): JobReturn => ({
    ...result,
    started_at: rfc3339(startedAt),
    duration_ms: Math.round(clock.monotonic() - started),
  });
  try {
    const call = v.parse(body, decode(commandBody));
    const value = await checkCall(call.function, call.args).run(call.args);
    return finish({ success: true, retcode: 0, return: value as Plain });
  } catch (thrown) {
    const error = thrown instanceof SvcError ? thrown.message : describeError(thrown);
    return finish({ success: false, retcode: 1, error });
  }
}
