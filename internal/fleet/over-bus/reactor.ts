import { mastersQueue, type ReactorAction, reactorSubject } from "../../bus/mod.ts";
import {
  listRules,
  type ReactorOperationDeps,
  resetBreakers,
  showStatus,
  testEvent,
} from "../reactor/mod.ts";
import { type BusDoor, overBus, serve } from "./bind.ts";

const at = (action: ReactorAction) => ({ subject: reactorSubject(action), queue: mastersQueue });

export const reactorOverBus = {
  status: overBus({ operation: showStatus, ...at("status") }),
  rules: overBus({ operation: listRules, ...at("rules") }),
  reset: overBus({ operation: resetBreakers, ...at("reset") }),
  test: overBus({ operation: testEvent, ...at("test") }),
};

/** Serves the operations of the reactor on the master that runs it. */
export function serveReactor(door: BusDoor, deps: ReactorOperationDeps): { stop(): void } {
  const serving = [
    serve(door, reactorOverBus.status, deps),
    serve(door, reactorOverBus.rules, deps),
    serve(door, reactorOverBus.reset, deps),
    serve(door, reactorOverBus.test, deps),
  ];
  return {
    stop() {
      for (const one of serving) one.stop();
    },
  };
}
