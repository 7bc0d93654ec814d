import { expect, test } from "bun:test";
import { decodePeelEvent } from "../../wire/peel-event.ts";
import type { Message } from "../link/outbox-entries.ts";
import { createSendEvent } from "./send-event.ts";

test("an event waits on disk under the peel's own name, each with an id of its own", () => {
  const kept: Message[] = [];
  let made = 0;
  const sendEvent = createSendEvent({
    outbox: {
      put(message) {
        kept.push(message);
        return { onDisk: true, stored: Promise.resolve(true) };
      },
    },
    peelId: "web_1",
    random: (length) => new Uint8Array(length).fill(++made),
  });
  expect(sendEvent("disk/full", { percent: 91 }).onDisk).toBe(true);
  sendEvent("disk/full", {});
  expect(kept).toMatchObject([
    { subject: "svc.event.web_1.disk.full", durable: true, droppable: true },
    { subject: "svc.event.web_1.disk.full", durable: true, droppable: true },
  ]);
  const [first, second] = kept.map(({ payload }) => decodePeelEvent(payload));
  expect(first?.data).toEqual({ percent: 91 });
  expect(first?.id).not.toBe(second?.id);
});
