import type { Clock } from "../../base/clock.ts";
import type { Random } from "../../base/id.ts";
import type { Log } from "../../base/log.ts";
import type { ServiceManager } from "../../base/service/service-manager.ts";
import type { Tracer } from "../../base/trace.ts";
import type { SignedSuccession } from "../../identity/succession/mod.ts";
import type { PeelConfig } from "../../program/config/mod.ts";
import type { Instance } from "../../wire/instance.ts";
import type { Insistence } from "../consent/mod.ts";
import type { IdentityFiles, KeyRing } from "../identity/mod.ts";
import type { Administrators, CommandKeys, RecoveryKeys, RefusedStatements, Roots } from "../trust/mod.ts";

export interface PeelOptions {
  config: PeelConfig;
  /** Where everything the peel keeps lives: `SVC_DATA_DIR`, or /data. */
  dataDir: string;
  env: Readonly<Record<string, string | undefined>>;
  hostname: string;
  /** A number in [0, 1). */
  jitter: () => number;
  clock: Clock;
  random: Random;
  log: Log;
  signal: AbortSignal;
  service?: ServiceManager;
  /** Called when the peel is connected and takes jobs. */
  onReady?(ports: { health?: number }): void;
}

/** What every part of a peel may use. */
export interface PeelDeps extends PeelOptions {
  /** Encoded. */
  peelId: string;
  /** This process, and the next number of its messages to the masters. */
  instance(): Instance;
  files: IdentityFiles;
  keys: KeyRing;
  commandKeys: CommandKeys;
  roots: Roots;
  recoveryKeys: RecoveryKeys;
  administrators: Administrators;
  /** Verifies the requester of a command, where this peel obeys operators only. */
  insistence?: Insistence;
  refusedStatements: RefusedStatements;
  /** Begins a span for each job; absent where nothing is traced. */
  tracer?: Tracer;
  /** The statement by which this peel came to its fleet, if it was another one before. */
  succession?: SignedSuccession;
}
