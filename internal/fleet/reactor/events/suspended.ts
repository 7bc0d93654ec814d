import type { Bus } from "../../../bus/connection/mod.ts";
import { append } from "../../../bus/streams/mod.ts";
import { eventSubject } from "../../../bus/subjects/subjects.ts";
import { encodeServiceEvent } from "../../../wire/peel-event.ts";
import { masterSource, peelFields } from "./event.ts";

/**
 * Reports to the reactor that a peel was suspended.
 *
 * @throws SvcError `unavailable`
 */
export async function notifyOfSuspension(bus: Bus, peel: string, reason: string): Promise<void> {
  const message = encodeServiceEvent({ data: { ...peelFields(peel), reason }, source: peel, depth: 0 });
  await append(bus, eventSubject(masterSource, `svc.peel.${peel}.suspended`), message, {});
}
