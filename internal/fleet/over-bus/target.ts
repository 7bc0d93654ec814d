import { type Bus, targetQueue, targetResolveSubject } from "../../bus/mod.ts";
import { type ResolveDeps, resolveTarget } from "../targeting/mod.ts";
import { type BusDoor, overBus, serve } from "./bind.ts";

/** What the bus takes in one message when it does not say, and what is kept free of that. */
const usualPayload = 1024 * 1024;
const spareBytes = 64 * 1024;

export const targetsOverBus = {
  resolve: overBus({ operation: resolveTarget, subject: targetResolveSubject, queue: targetQueue }),
};

/** Serves the resolution of targets; an answer that does not fit into a message comes in pieces. */
export function serveTargets(
  door: BusDoor & { bus: { nats: Pick<Bus["nats"], "info"> } },
  { resolver }: Pick<ResolveDeps, "resolver">,
): void {
  const answerBytes = () => (door.bus.nats.info?.max_payload ?? usualPayload) - spareBytes;
  serve(door, targetsOverBus.resolve, { resolver, answerBytes });
}
