import type { BoundedMap } from "../../base/bounded-map.ts";
import type { Clock } from "../../base/clock.ts";
import type { Random } from "../../base/id.ts";
import type { Log } from "../../base/log.ts";
import type { Tracer } from "../../base/trace.ts";
import type { Insistence } from "../consent/mod.ts";
import type { Connection } from "../link/mod.ts";
import type { Local } from "./local.ts";
import type { Returns } from "./returns.ts";

export interface WorkerOptions {
  connection: Connection;
  /** Encoded peel id. */
  peelId: string;
  /** Read for each command, because keys can be replaced. */
  commandKeys: { readonly current: readonly string[] };
  local: Local;
  /** Verifies the requester of a command; absent on a peel that obeys masters. */
  insistence?: Insistence;
  /** Begins a span for each job. */
  tracer?: Tracer;
  clock: Clock;
  random: Random;
  log: Log;
}

/** What every command needs. */
export interface Work extends WorkerOptions {
  returns: Returns;
  /** Jobs that may be stopped without an operator: those that run without one, and the waves of rollouts. */
  automatic: BoundedMap<true>;
}
