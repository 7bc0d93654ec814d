import { createSlots, type Slots } from "../../base/slots.ts";
import type { LowState } from "../function/mod.ts";

/** Modules whose states know best what they touch, and may take long: they never wait for each other. */
const free = new Set(["cmd", "test", "module", "event"]);
/** Modules whose states touch one path, image or container each. */
const byObject = new Set(["file", "archive", "git", "docker_container", "docker_image", "docker_network"]);

/**
 * Lets states that change the same things take turns. A state is planned from what it finds, and would undo what another
 * one changed meanwhile: two lines of one /etc/hosts, two packages.
 */
export function createTurns(): <Value>(state: LowState, work: () => Promise<Value>) => Promise<Value> {
  const slots = new Map<string, Slots>();
  return (state, work) => {
    const key = keyOf(state);
    if (key === undefined) return work();
    const found = slots.get(key) ?? createSlots({ atOnce: 1 });
    slots.set(key, found);
    return found.run(work);
  };
}

function keyOf({ function: called, name, args }: LowState): string | undefined {
  const module = called.slice(0, called.indexOf("."));
  if (free.has(module)) return undefined;
  return byObject.has(module) ? `${module} ${args.target ?? name}` : module;
}
