import type { Clock } from "../../internal/base/clock.ts";
import type { Plain } from "../../internal/base/msgpack.ts";
import type { FactStore } from "../../internal/host/facts/store.ts";
import type { CallContext } from "../../internal/host/modules/function.ts";
import { checkCall } from "../../internal/host/modules/registry.ts";
import type { SettingsStore } from "../../internal/host/modules/settings-store.ts";
import { manualClock } from "./clock.ts";
import { fixedSettings } from "./settings.ts";

/** Checks and runs one function as a peel does, without a job around it; it has no facts. */
export async function callFunction(
  name: string,
  args: Record<string, Plain> = {},
  {
    clock = manualClock(),
    signal = new AbortController().signal,
    settings = fixedSettings(),
    sendEvent,
    unbounded,
    hidden,
    states,
  }: Pick<CallContext, "sendEvent" | "unbounded" | "hidden" | "states"> & {
    clock?: Clock;
    signal?: AbortSignal;
    settings?: SettingsStore;
  } = {},
): Promise<Plain> {
  return checkCall(name, args).run(args, {
    clock,
    signal,
    facts: {} as FactStore,
    settings,
    ...(sendEvent === undefined ? {} : { sendEvent }),
    ...(unbounded === undefined ? {} : { unbounded }),
    ...(hidden === undefined ? {} : { hidden }),
    ...(states === undefined ? {} : { states }),
  });
}
