import { adminQueue, type Bus, statesSubject } from "../../bus/mod.ts";
import { type ComplianceDeps, countStates, listDrift, mostDrifting, showStates } from "../compliance/mod.ts";
import { answerBytes } from "./answer-bytes.ts";
import { type BusDoor, overBus, serve } from "./bind.ts";

const at = (action: "status" | "drift" | "show") => ({ subject: statesSubject(action), queue: adminQueue });

export const statesOverBus = {
  status: overBus({ operation: countStates, ...at("status") }),
  drift: overBus({ operation: listDrift, ...at("drift"), page: { usual: 500, max: mostDrifting } }),
  show: overBus({ operation: showStates, ...at("show") }),
};

/** Serves what the last state runs did; a page that is too large for a message is cut. */
export function serveStates(
  door: BusDoor & { bus: { nats: Pick<Bus["nats"], "info"> } },
  deps: ComplianceDeps,
): void {
  serve(door, statesOverBus.status, deps);
  serve(door, statesOverBus.drift, { ...deps, answerBytes: () => answerBytes(door.bus) });
  serve(door, statesOverBus.show, deps);
}
