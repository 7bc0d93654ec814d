import { type Bus, targetQueue, targetResolveSubject } from "../../bus/mod.ts";
import { type ResolveDeps, resolveTarget } from "../targeting/mod.ts";
import { answerBytes } from "./answer-bytes.ts";
import { type BusDoor, overBus, serve } from "./bind.ts";

export const targetsOverBus = {
  resolve: overBus({ operation: resolveTarget, subject: targetResolveSubject, queue: targetQueue }),
};

/** Serves the resolution of targets; an answer that is too large for a message is split into several. */
export function serveTargets(
  door: BusDoor & { bus: { nats: Pick<Bus["nats"], "info"> } },
  { resolver }: Pick<ResolveDeps, "resolver">,
): void {
  serve(door, targetsOverBus.resolve, { resolver, answerBytes: () => answerBytes(door.bus) });
}
