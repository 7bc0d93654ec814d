import type { BusIdentity } from "../../bus/connection/mod.ts";
import type { BusContext } from "../../program/diagnosis/mod.ts";
import type { TracingConfig } from "../../program/tracing/mod.ts";
import type { FleetReads, Masters, PeelSurvey, StateFiles, StorageProbe } from "../fleet-reads.ts";

/** The context of the steps of `svc doctor`. */
export interface DoctorContext extends BusContext {
  /** Where commands of the operator send traces. */
  tracing(): TracingConfig;
  identity(): BusIdentity;
  /** What is read of the fleet. */
  reads(): Promise<FleetReads>;
  /** The same for all steps. */
  survey(): Promise<PeelSurvey>;
  /** `undefined` where no master is contacted. */
  files(): Promise<StateFiles | undefined>;
  /** The same for all steps: several inspect the masters. */
  masters(): Promise<Masters>;
  /**
   * And when it was requested by the clock of this host, milliseconds since the Unix epoch, and how long that took.
   */
  probe(): Promise<StorageProbe & { requestedAt: number; roundTripMs: number }>;
}
