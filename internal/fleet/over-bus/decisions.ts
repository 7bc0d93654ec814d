import { adminQueue, decisionsSubject } from "../../bus/mod.ts";
import { type VerifyDeps, verifyDecisions } from "../decisions/mod.ts";
import { type BusDoor, overBus, serve } from "./bind.ts";

/** The binding of one master: each of them compares its own log, so that none can answer for another. */
export const decisionsOverBus = (master: string) => ({
  verify: overBus({ operation: verifyDecisions, subject: decisionsSubject(master), queue: adminQueue }),
});

/** Serves the comparison of the log of this master. */
export function serveDecisions(door: BusDoor, master: string, deps: VerifyDeps): void {
  serve(door, decisionsOverBus(master).verify, deps);
}
