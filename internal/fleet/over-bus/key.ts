import { adminQueue, keyDependentsSubject } from "../../bus/mod.ts";
import { type KeysDeps, listDependents } from "../keys/mod.ts";
import { type BusDoor, overBus, serve } from "./bind.ts";

export const keysOverBus = {
  dependents: overBus({ operation: listDependents, subject: keyDependentsSubject, queue: adminQueue }),
};

export function serveKeys(door: BusDoor, deps: KeysDeps): void {
  serve(door, keysOverBus.dependents, deps);
}
