import { mastersQueue, type RolloutAction, rolloutSubject } from "../../bus/mod.ts";
import { abort, list, pause, type RolloutOperationDeps, resume, show, start } from "../rollout/mod.ts";
import { type BusDoor, overBus, serve } from "./bind.ts";

const at = (action: RolloutAction) => ({ subject: rolloutSubject(action), queue: mastersQueue });

export const rolloutsOverBus = {
  start: overBus({ operation: start, ...at("start") }),
  list: overBus({ operation: list, ...at("list"), page: { usual: 20, max: 1_000 } }),
  show: overBus({ operation: show, ...at("show") }),
  pause: overBus({ operation: pause, ...at("pause"), reply: ["rollout"] }),
  resume: overBus({ operation: resume, ...at("resume"), reply: ["rollout"] }),
  abort: overBus({ operation: abort, ...at("abort"), reply: ["rollout"] }),
};

/** The master that gets a request to start drives the rollout. */
export function serveRollouts(door: BusDoor, deps: RolloutOperationDeps): void {
  serve(door, rolloutsOverBus.start, deps.start);
  serve(door, rolloutsOverBus.list, deps);
  serve(door, rolloutsOverBus.show, deps.follow);
  serve(door, rolloutsOverBus.pause, deps.command);
  serve(door, rolloutsOverBus.resume, deps.command);
  serve(door, rolloutsOverBus.abort, deps.command);
}
