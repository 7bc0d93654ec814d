import type { Bus } from "../../../bus/connection/mod.ts";
import { append } from "../../../bus/streams/mod.ts";
import { eventSubject } from "../../../bus/subjects/subjects.ts";
import { encodeServiceEvent } from "../../../wire/peel-event.ts";
import { masterSource } from "./event.ts";

/**
 * Reports to the reactor that a copy of the host of a peel asked to join with a key of its own.
 *
 * @throws SvcError `unavailable`
 */
export async function notifyOfCopy(bus: Bus, id: string, peel: string): Promise<void> {
  const message = encodeServiceEvent({ data: { id, peel_id: peel }, source: peel, depth: 0 });
  await append(bus, eventSubject(masterSource, "svc.peel.copied"), message, {});
}

/**
 * Reports to the reactor that two hosts appear to hold the identity of a peel.
 *
 * @throws SvcError `unavailable`
 */
export async function notifyOfClone(bus: Bus, id: string, peel: string): Promise<void> {
  const message = encodeServiceEvent({ data: { id, peel_id: peel }, source: peel, depth: 0 });
  await append(bus, eventSubject(masterSource, "svc.enrollment.clone"), message, {});
}
