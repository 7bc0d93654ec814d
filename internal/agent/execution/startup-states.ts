import { type Clock, sleep } from "../../base/clock.ts";
import { newId, type Random } from "../../base/id.ts";
import type { Log } from "../../base/log.ts";
import type { SettingsStore } from "../../host/modules/mod.ts";
import type { PeelConfig } from "../../program/config/mod.ts";
import type { Call } from "../../wire/call.ts";
import type { StateFiles } from "../state-files/mod.ts";
import type { Executor } from "./executor.ts";

/** Timeout for the bus, state files and settings (specification, "Limits"). */
const timeoutMs = 60_000;
const checkMs = 500;

export interface StartupOptions {
  config: Pick<PeelConfig, "startup_states" | "startup_sls_list">;
  executor: Pick<Executor, "run">;
  settings: Pick<SettingsStore, "resolved" | "refresh">;
  stateFiles: Pick<StateFiles, "waitForFirstSync">;
  /** Says which state files run; absent on a peel that obeys masters. */
  insistence?: { own(call: Call): Call | { refused: string } };
  clock: Clock;
  random: Random;
  log: Log;
}

export interface Startup {
  /** The bus is connected, so the newest files are available. */
  connected(): void;
  stop(): void;
}

/**
 * Applies the startup states once, in the same queue as all other calls. Waits up to a minute for the bus, to
 * apply the newest files. After that it uses the cached files. A host without cached files, such as one that
 * is not approved yet, waits for the bus without a timeout.
 */
export function startStartupStates(options: StartupOptions): Startup {
  const { log } = options;
  const call = callOf(options.config);
  const stopping = new AbortController();
  const connected = Promise.withResolvers<void>();
  if (call !== undefined) {
    run(call, options, connected.promise, stopping.signal).catch((thrown) => {
      if (!stopping.signal.aborted) log.error("start-up states not applied", { error: thrown });
    });
  }
  return {
    connected: connected.resolve,
    stop: () => stopping.abort(new Error("the peel is stopping")),
  };
}

/** The call to run at start, or `undefined`. */
function callOf({ startup_states, startup_sls_list }: StartupOptions["config"]): Call | undefined {
  if (startup_states === "highstate") return { function: "state.highstate", args: {} };
  if (startup_states !== "sls" || startup_sls_list.length === 0) return undefined;
  return { function: "state.sls", args: { mods: [...startup_sls_list] } };
}

async function run(
  call: Call,
  options: StartupOptions,
  connected: Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const { settings, stateFiles, clock, log } = options;
  const reached = await within(
    connected.then(() => true),
    clock,
    signal,
  );
  if (reached === undefined && !(settings.resolved && (await hasFiles(stateFiles)))) {
    log.info("start-up states wait for the bus: this host keeps no states and settings yet");
    await Promise.race([connected, aborted(signal)]);
  }
  await Promise.all([
    stateFiles.waitForFirstSync(signal),
    settings.refresh().catch(() => {}),
    untilResolved(settings, clock, signal),
  ]);
  signal.throwIfAborted();
  const allowed = options.insistence?.own(call) ?? call;
  if ("refused" in allowed)
    return log.error("start-up states failed", { function: call.function, error: allowed.refused });
  log.info("start-up states begin", { function: call.function, ...call.args });
  const id = newId("job", clock.now(), options.random);
  const {
    success,
    error,
    return: value,
    duration_ms,
  } = await options.executor.run({ id, call: allowed, origin: { trigger: "startup" } });
  const summary =
    typeof value === "object" && value !== null && "summary" in value ? value.summary : undefined;
  const fields = { function: call.function, summary, duration_ms };
  if (success) log.info("start-up states applied", fields);
  else log.error("start-up states failed", { ...fields, error });
}

/** Whether files exist now: waits with a timeout of zero. */
function hasFiles(stateFiles: StartupOptions["stateFiles"]): Promise<boolean> {
  return stateFiles.waitForFirstSync(AbortSignal.abort());
}

async function untilResolved(settings: Pick<SettingsStore, "resolved">, clock: Clock, signal: AbortSignal) {
  const until = clock.monotonic() + timeoutMs;
  while (!settings.resolved && clock.monotonic() < until) await sleep(clock, checkMs, signal);
}

/** @returns the value of the promise, or `undefined` after the timeout */
async function within<Value>(
  promise: Promise<Value>,
  clock: Clock,
  signal: AbortSignal,
): Promise<Value | undefined> {
  const late = new AbortController();
  try {
    const ended = AbortSignal.any([signal, late.signal]);
    return await Promise.race([promise, sleep(clock, timeoutMs, ended).then(() => undefined)]);
  } finally {
    late.abort();
  }
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  });
}
