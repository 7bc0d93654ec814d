import type { Clock } from "../../base/clock.ts";
import type { Random } from "../../base/id.ts";
import type { Log } from "../../base/log.ts";
import type { ServiceManager } from "../../base/service/service-manager.ts";
import type { Tracer } from "../../base/trace.ts";
import type { ServedRoute } from "../../doors/rest/mod.ts";
import type { OperatorBudgets, OperatorLimits, RequestJudge } from "../../fleet/requests/mod.ts";
import type { RolloutTiming } from "../../fleet/rollout/mod.ts";
import type { MasterConfig } from "../../program/config/mod.ts";
import type { RequestRegistry } from "../../wire/verify-request.ts";
import type { AccountKeys, Keyring, MasterKeys, SettingsKeys } from "../keys/mod.ts";
import type { MasterMetrics } from "../metrics/mod.ts";

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
  /** How long files of masters may differ, for the same reason. */
  filePatienceMs?: number;
  /** The same, for tests that send more in a moment than a person does. */
  operatorLimits?: OperatorLimits;
  /** The clock is not compared with the bus, for tests that move it. */
  trustsClock?: boolean;
  /** The registered operators; without it no signed request is accepted. */
  operators?: RequestRegistry;
  /** Called when the master serves, with the ports it really has and the routes behind the first. */
  onReady?(serving: { enroll: number; health?: number; routes: readonly ServedRoute[] }): void;
}

/** What all parts of a master share. */
export interface MasterDeps extends MasterOptions {
  /** Of this master. */
  name: string;
  keys: MasterKeys;
  /** The buckets that the start waits for, with the monotonic time since when. */
  awaited: Map<string, number>;
  /** The command keys, which change while the master runs. */
  keyring: Keyring;
  /** The signing keys of the peels' account, which change as well. */
  accountKeys: AccountKeys;
  /** What masters encrypt and compare among themselves with. */
  settingsKeys: SettingsKeys;
  metrics: MasterMetrics;
  tracer: Tracer;
  /** Verifies requests of operators to this master alone. */
  signedReads: SignedReads;
  /** What each operator may send to this master. */
  budgets: OperatorBudgets;
}

/** Requests about this master itself, which it answers also before it knows the operators. */
export interface SignedReads {
  /** `operators.require_signed` */
  readonly required: boolean;
  judge: RequestJudge | undefined;
}
