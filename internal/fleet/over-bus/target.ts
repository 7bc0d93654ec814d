import { type Bus, targetQueue, targetResolveSubject } from "../../bus/mod.ts";
import { type ResolveDeps, resolveTarget } from "../targeting/mod.ts";
import { type BusDoor, overBus, serve } from "./bind.ts";

/** Default maximum message size of the bus, and the part of it to keep free. */
const usualPayload = 1024 * 1024;
const spareBytes = 64 * 1024;

export const targetsOverBus = {
  resolve: overBus({ operation: resolveTarget, subject: targetResolveSubject, queue: targetQueue }),
};

/** Serves the resolution of targets; an answer that is too large for a message is split into several. */
export function serveTargets(
  door: BusDoor & { bus: { nats: Pick<Bus["nats"], "info"> } },
  { resolver }: Pick<ResolveDeps, "resolver">,
): void {
  const answerBytes = () => (door.bus.nats.info?.max_payload ?? usualPayload) - spareBytes;
  serve(door, targetsOverBus.resolve, { resolver, answerBytes });
}
