import { type AdminAction, adminQueue, adminSubject } from "../../bus/mod.ts";
import { type ExpectedDeps, expectOperation, listExpected, unexpectOperation } from "../expected/mod.ts";
import { type BusDoor, overBus, serve } from "./bind.ts";

const at = (action: AdminAction) => ({ subject: adminSubject(action), queue: adminQueue });

export const expectedOverBus = {
  add: overBus({ operation: expectOperation, ...at("expect") }),
  list: overBus({ operation: listExpected, ...at("expected"), page: { usual: 500, max: 1_000 } }),
  remove: overBus({ operation: unexpectOperation, ...at("unexpect") }),
};

export function serveExpected(door: BusDoor, deps: ExpectedDeps): void {
  serve(door, expectedOverBus.add, deps);
  serve(door, expectedOverBus.list, deps);
  serve(door, expectedOverBus.remove, deps);
}
