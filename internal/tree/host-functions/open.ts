import { SvcError, toSvcError } from "../../base/errors.ts";
import { reasonOf } from "../../base/files/file.ts";
import type { Random } from "../../base/id.ts";
import type { Plain } from "../../base/msgpack.ts";
import type { HostCall, HostFunctions } from "../template/mod.ts";
import { accessLevels, argumentsOf, type HostAccess, type HostContext } from "./function.ts";
import { hostFunctionNames, hostFunctions } from "./table.ts";

/** How long one call may take, in milliseconds. */
const limitMs = 10_000;

/** Functions for the templates of one run, and what they were called for. */
export interface OpenedHostFunctions extends HostFunctions {
  /** How often each was called. */
  readonly calls: ReadonlyMap<string, number>;
}

/** Opens the functions that templates may call on this host. */
export function openHostFunctions(options: {
  access: HostAccess;
  context: HostContext;
  random: Random;
}): OpenedHostFunctions {
  const { access, context, random } = options;
  const calls = new Map<string, number>();
  return {
    calls,
    names: hostFunctionNames,
    refusal(name) {
      const needs = hostFunctions.get(name)?.needs ?? "command";
      if (accessLevels.indexOf(access) >= accessLevels.indexOf(needs)) return undefined;
      return `is not allowed here: it needs templates.host_functions: ${needs}`;
    },
    async call(call: HostCall): Promise<Plain> {
      const found = hostFunctions.get(call.name);
      if (found === undefined) throw new SvcError("bad_request", `${call.name} does not exist`);
      calls.set(call.name, (calls.get(call.name) ?? 0) + 1);
      const ending = new AbortController();
      const late = new SvcError("unavailable", `no answer within ${limitMs / 1000} s`);
      const timer = context.clock.after(limitMs, () => ending.abort(late));
      const signal = AbortSignal.any([context.signal, ending.signal]);
      const over = new Promise<never>((_, reject) => {
        signal.addEventListener("abort", () => reject(toSvcError(signal.reason)), { once: true });
      });
      const run = async () =>
        found.run(argumentsOf(found, call), { context: { ...context, signal }, random });
      try {
        return await Promise.race([run(), over]);
      } catch (thrown) {
        if (thrown instanceof SvcError) throw thrown;
        throw new SvcError("bad_request", reasonOf(thrown), { cause: thrown });
      } finally {
        timer.cancel();
      }
    },
  };
}
