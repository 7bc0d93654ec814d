import { expect, test } from "bun:test";
import { provisionedBus } from "../../../test/harness/provisioned-bus.ts";
import { scheduleSubject } from "../subjects/subjects.ts";
import { consume } from "./consumer.ts";
import { removeSubject } from "./remove-subject.ts";
import { readStream } from "./stream.ts";

const bus = provisionedBus();

test("what others sent still reaches its consumer, and the messages of one peel are gone", async () => {
  const all = scheduleSubject("*", "*");
  const handled: string[] = [];
  let waiting = Promise.withResolvers<void>();
  const start = (enough: number) =>
    consume(
      bus.master,
      {
        stream: "job-events",
        durable: "test",
        filter: all,
        backoffMs: [60_000],
        maxDeliveries: 2,
        atOnce: 1,
      },
      async ({ subject }) => {
        handled.push(subject);
        if (handled.length >= enough) waiting.resolve();
      },
    );
  const send = async (jid: string, peel: string) => {
    await bus.master.nats.request(scheduleSubject(jid, peel), new Uint8Array(1), { timeout: 5_000 });
  };
  await send("j0", "honest");
  const first = start(1);
  await waiting.promise;
  await first.stop();

  for (let n = 0; n < 200; n++) await send(`j${n}`, "flood");
  await send("j1", "honest");
  for (let n = 200; n < 400; n++) await send(`j${n}`, "flood");
  await send("j2", "honest");
  expect(await removeSubject(bus.master, "job-events", scheduleSubject("*", "flood"))).toBe(400);
  expect(await removeSubject(bus.master, "job-events", scheduleSubject("*", "flood"))).toBe(0);
  const left: string[] = [];
  await readStream(bus.master, "job-events", all, ({ subject }) => left.push(subject));
  const expected = ["j0", "j1", "j2"].map((jid) => scheduleSubject(jid, "honest"));
  expect(left).toEqual(expected);

  waiting = Promise.withResolvers();
  const second = start(3);
  await waiting.promise;
  await second.stop();
  expect(handled).toEqual(expected);
});
