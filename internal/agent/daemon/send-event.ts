import { encodeBase64Url } from "../../base/base64.ts";
import type { Random } from "../../base/id.ts";
import { eventSubject } from "../../bus/subjects/subjects.ts";
import type { CallContext } from "../../host/modules/mod.ts";
import { encodePeelEvent } from "../../wire/peel-event.ts";
import type { Outbox } from "../link/mod.ts";

/**
 * Lets functions send events to the masters. Each event waits on disk until the bus has stored it. When the
 * outbox is full, the oldest events are dropped, as are results of the schedule.
 */
export function createSendEvent(options: {
  outbox: Pick<Outbox, "put">;
  /** Encoded peel id. */
  peelId: string;
  random: Random;
}): NonNullable<CallContext["sendEvent"]> {
  const { outbox, peelId, random } = options;
  return (tag, data) =>
    outbox.put({
      subject: eventSubject(peelId, tag.split("/").join(".")),
      payload: encodePeelEvent({ data, id: encodeBase64Url(random(12)) }),
      durable: true,
      droppable: true,
    });
}
