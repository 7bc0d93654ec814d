import { resolve } from "node:path";
import type { Clock } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import type { ServiceManager } from "../../base/service/service-manager.ts";
import { type BusServer, carriedServer, startBusServer, systemPath } from "../../bus/server/mod.ts";
import type { MasterConfig } from "../../program/config/mod.ts";

interface EmbeddedBusOptions {
  config: MasterConfig;
  env: Readonly<Record<string, string | undefined>>;
  clock: Clock;
  log: Log;
  signal: AbortSignal;
  service?: ServiceManager;
}

/**
 * Starts the bus of a master with `embedded_bus`, and waits until it serves.
 *
 * @returns `undefined` where the bus is not embedded
 * @throws SvcError saying why it cannot be started
 */
export async function startEmbeddedBus(
  options: EmbeddedBusOptions & { metrics: { busRestarted(): void } },
): Promise<BusServer | undefined> {
  const { config, env, metrics } = options;
  if (!config.embedded_bus) return undefined;
  return startBusServer({
    ...options,
    dir: resolve(config.embedded_bus_dir),
    program: config.embedded_bus_path,
    carried: carriedServer(),
    searchPath: `${env.PATH ?? ""}:${systemPath}`,
    onRestart: metrics.busRestarted,
  });
}
