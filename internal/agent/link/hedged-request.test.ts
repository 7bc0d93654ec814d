import { afterAll, beforeAll, expect, test } from "bun:test";
import { connectTo, startBus, type TestBus } from "../../../test/harness/bus.ts";
import { manualClock, settle } from "../../../test/harness/clock.ts";
import { encode } from "../../base/msgpack.ts";
import type { Bus } from "../../bus/connection/connect.ts";
import { encodeRateLimited } from "../../bus/subjects/envelope.ts";
import { mastersQueue } from "../../bus/subjects/subjects.ts";
import { createHedgedRequest } from "./hedged-request.ts";

const request = new Uint8Array([0x80]);
const answerOf = (name: string) => encode({ name });

/** Masters that answer when the test lets them, in the order in which the bus asks them. */
function masters() {
  const clock = manualClock();
  const startedAt = clock.monotonic();
  const requested: { at: number; answer(bytes: Uint8Array): Promise<void>; fail(): Promise<void> }[] = [];
  const send = createHedgedRequest({
    clock,
    connection: {
      request: (_subject, _data, timeoutMs) =>
        new Promise((resolve, reject) => {
          clock.after(timeoutMs, () => reject(new Error("TIMEOUT")));
          requested.push({
            at: clock.monotonic() - startedAt,
            async answer(bytes) {
              resolve(bytes);
              await settle();
            },
            async fail() {
              reject(new Error("no responders"));
              await settle();
            },
          });
        }),
    },
  });
  const begin = (timeoutMs = 5_000) => {
    const reported: unknown[] = [];
    send("svc.peel.web-1.hello", request, timeoutMs).then(
      (bytes) => reported.push(bytes),
      (thrown) => reported.push(String(thrown)),
    );
    return reported;
  };
  const pass = async (ms: number) => {
    for (let left = ms; left > 0; left -= 250) {
      clock.advance(Math.min(250, left));
      await settle();
    }
  };
  return { clock, requested, begin, pass };
}

test("what is answered within a second is asked once", async () => {
  const { requested, begin, pass } = masters();
  const reported = begin();
  await pass(750);
  await requested[0]?.answer(answerOf("one"));
  await pass(5_000);
  expect([requested.length, reported]).toEqual([1, [answerOf("one")]]);
});

test("a master that is frozen holds a request up for a second, and the requests are bounded", async () => {
  const { requested, begin, pass } = masters();
  const reported = begin();
  await pass(1_000);
  await requested[1]?.answer(answerOf("two"));
  expect([requested.length, reported]).toEqual([2, [answerOf("two")]]);
  // All of them are.
  const later = begin();
  await pass(6_000);
  expect(requested.map(({ at }) => at).slice(2)).toEqual([1_000, 2_000, 3_000, 4_000]);
  expect(later).toEqual(["Error: TIMEOUT"]);
});

test("the first master may still answer, and what comes later is dropped", async () => {
  const { requested, begin, pass } = masters();
  const reported = begin();
  await pass(1_250);
  await requested[0]?.answer(answerOf("one"));
  await requested[1]?.answer(answerOf("two"));
  expect(reported).toEqual([answerOf("one")]);
});

test("a refusal because of the request before does not outrun its answer", async () => {
  const { requested, begin, pass } = masters();
  const reported = begin();
  await pass(1_000);
  await requested[1]?.answer(encodeRateLimited());
  expect(reported).toEqual([]);
  await requested[0]?.answer(answerOf("one"));
  expect(reported).toEqual([answerOf("one")]);
  // Nothing better came.
  const other = begin();
  await pass(1_000);
  await requested[3]?.answer(encodeRateLimited());
  await pass(6_000);
  expect(other).toEqual([encodeRateLimited()]);
});

test("without any master it fails at once", async () => {
  const { requested, begin, pass } = masters();
  const reported = begin();
  await requested[0]?.fail();
  await pass(5_000);
  expect([requested.length, reported]).toEqual([1, ["Error: no responders"]]);
});

test("masters that are busy are not asked more often", async () => {
  const { requested, begin, pass } = masters();
  for (let i = 0; i < 12; i++) {
    const reported = begin(30_000);
    const first = requested.at(-1);
    await pass(4_000);
    await first?.answer(answerOf("one"));
    expect(reported).toHaveLength(1);
  }
  const before = requested.length;
  begin(30_000);
  await pass(8_000);
  expect(requested.length - before).toBe(1);
});

let server: TestBus;
let bus: Bus;
beforeAll(async () => {
  server = await startBus();
  bus = await connectTo(server, "master");
}, 60_000);
afterAll(async () => {
  await bus?.drain();
  await server?.[Symbol.asyncDispose]();
});

test("on a real bus: one member of the queue takes the request and is silent, and another answers", async () => {
  const subject = "svc.peel.web-1.hello";
  let taken = 0;
  const live = () =>
    bus.nats.subscribe(subject, { queue: mastersQueue, callback: (_, m) => m.respond(answerOf("live")) });
  const frozen = bus.nats.subscribe(subject, {
    queue: mastersQueue,
    max: 1,
    callback() {
      taken++;
      live();
    },
  });
  const send = createHedgedRequest({
    clock: bus.clock,
    connection: {
      request: async (to, data, timeout) => (await bus.nats.request(to, data, { timeout })).data,
    },
  });
  const startedAt = bus.clock.monotonic();
  expect(Buffer.from(await send(subject, request, 5_000))).toEqual(Buffer.from(answerOf("live")));
  expect(taken).toBe(1);
  expect(bus.clock.monotonic() - startedAt).toBeLessThan(5_000);
  frozen.unsubscribe();
});
