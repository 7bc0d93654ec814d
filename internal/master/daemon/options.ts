import type { Clock } from "../../base/clock.ts";
import type { Random } from "../../base/id.ts";
import type { Log } from "../../base/log.ts";
import type { ServiceManager } from "../../base/service-manager.ts";
import type { RolloutTiming } from "../../fleet/rollout/mod.ts";
import type { MasterConfig } from "../../program/config/mod.ts";
import type { ServedRoute } from "../doors/http/mod.ts";
import type { MasterMetrics } from "../metrics/mod.ts";
import type { MasterKeys } from "./keys.ts";

export interface MasterOptions {
  config: MasterConfig;
  env: Readonly<Record<string, string | undefined>>;
  hostname: string;
  clock: Clock;
  random: Random;
  /** A number in [0, 1). */
  jitter: () => number;
  log: Log;
  signal: AbortSignal;
  service?: ServiceManager;
  /** Replaces limits of the specification, for tests that cannot wait for them. */
  rolloutTiming?: RolloutTiming;
  /** Called when the master serves, with the ports it really has and the routes behind the first. */
  onReady?(serving: { enroll: number; health: number; routes: readonly ServedRoute[] }): void;
}

/** What all parts of a master share. */
export interface MasterDeps extends MasterOptions {
  /** Of this master. */
  name: string;
  keys: MasterKeys;
  metrics: MasterMetrics;
}
