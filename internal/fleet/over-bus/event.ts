import { adminQueue, type Bus, eventListSubject } from "../../bus/mod.ts";
import { type EventsDeps, followEvents, listEvents } from "../events/mod.ts";
import { answerBytes } from "./answer-bytes.ts";
import { type BusDoor, overBus, serve, stream } from "./bind.ts";

export const eventsOverBus = {
  list: overBus({ operation: listEvents, subject: eventListSubject, queue: adminQueue }),
  follow: { operation: followEvents, bus: { subject: "svc.admin.events.follow" } },
};

/** Serves what happened; any master answers. A page that is too large for a message is cut. */
export function serveEvents(
  door: BusDoor & { bus: { nats: Pick<Bus["nats"], "info"> } },
  deps: Omit<EventsDeps, "answerBytes">,
): void {
  serve(door, eventsOverBus.list, { ...deps, answerBytes: () => answerBytes(door.bus) });
  stream(door, eventsOverBus.follow, deps);
}
