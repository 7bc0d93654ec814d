import { adminQueue, masterListSubject, storageProbeSubject } from "../../bus/mod.ts";
import { listMasters, type MastersDeps, type ProbeDeps, probeStorage } from "../masters/mod.ts";
import { type BusDoor, overBus, serve } from "./bind.ts";

export const mastersOverBus = {
  list: overBus({ operation: listMasters, subject: masterListSubject, queue: adminQueue }),
  probe: overBus({ operation: probeStorage, subject: storageProbeSubject, queue: adminQueue }),
};

/** Serves how the masters are, and what storage looks like to the one that answers. */
export function serveMasters(door: BusDoor, deps: MastersDeps & ProbeDeps): void {
  serve(door, mastersOverBus.list, deps);
  serve(door, mastersOverBus.probe, deps);
}
