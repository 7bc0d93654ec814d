import { type Clock, rfc3339 } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import type { BusRestarts } from "../../bus/server/mod.ts";
import { append } from "../../bus/streams/mod.ts";
import { eventSubject } from "../../bus/subjects/subjects.ts";
import { encodeServiceEvent } from "../../wire/peel-event.ts";
import { masterSource } from "../reactor/events/mod.ts";
import { createPublisher } from "./publisher.ts";

/**
 * Publishes `svc/bus/restarted` once the bus stores events again. Several restarts until then are one event.
 *
 * @param options.name of the master that runs the bus
 */
export function publishBusRestarts(options: {
  bus: Bus;
  name: string;
  restarts: () => BusRestarts | undefined;
  clock: Clock;
  log: Log;
}): { report(): void; stop(): Promise<void> } {
  const { bus, name, restarts, clock, log } = options;
  const publisher = createPublisher({ clock, log });
  const subject = eventSubject(masterSource, "svc.bus.restarted");
  let published = 0;
  const store = async (): Promise<void> => {
    const seen = restarts();
    if (seen === undefined || seen.count === published) return;
    const data = { master: name, restarts: seen.count, at: rfc3339(seen.at) };
    await append(bus, subject, encodeServiceEvent({ data, source: masterSource, depth: 0 }), {});
    published = seen.count;
  };
  return { report: () => publisher.report("the bus", store), stop: publisher.stop };
}
