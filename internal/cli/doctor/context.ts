import type { BusIdentity } from "../../bus/connect.ts";
import type { BusContext } from "../../diagnosis/bus.ts";

/** What the steps of `svc doctor` work with. */
export interface DoctorContext extends BusContext {
  identity(): BusIdentity;
}
