import { expect, test } from "bun:test";
import { manualClock } from "../../../test/harness/clock.ts";
import { type EventSink, eventStream } from "./stream.ts";

const minute = 60_000;

/** A stream with the times of the specification, on a clock that the test controls. */
function open(start: (sink: EventSink) => void = () => {}) {
  const clock = manualClock();
  const leave = new AbortController();
  const seen = { stops: 0, sink: undefined as EventSink | undefined };
  const response = eventStream({
    clock,
    signal: leave.signal,
    heartbeatMs: 30_000,
    maxDurationMs: 30 * minute,
    start(sink) {
      seen.sink = sink;
      start(sink);
      return () => {
        seen.stops++;
      };
    },
  });
  return { clock, leave, response, seen };
}

const heartbeat = ": heartbeat\n\n";

test("is declared as an event stream that must not be stored", () => {
  const { response } = open();
  expect(Object.fromEntries(response.headers)).toEqual({
    "content-type": "text/event-stream",
    "cache-control": "no-cache",
    connection: "keep-alive",
  });
});

test("an event is its name and one line of JSON", async () => {
  const { response } = open((sink) => {
    sink.send("state", { id: "a", note: "two\nlines" });
    sink.close();
  });
  expect(await response.text()).toBe('event: state\ndata: {"id":"a","note":"two\\nlines"}\n\n');
});

test("a sign of life is an event of its own", async () => {
  const { response } = open((sink) => {
    sink.beat();
    sink.close();
  });
  expect(await response.text()).toBe("event: alive\ndata: {}\n\n");
});

test("a heartbeat comment comes every 30 s, and after 30 minutes a timeout ends it", async () => {
  const { clock, response, seen } = open();
  clock.advance(29_999);
  clock.advance(1);
  clock.advance(30 * minute);
  const text = await response.text();
  // The sixtieth heartbeat and the end fall on one instant: the heartbeat was due first.
  expect(text.split(heartbeat).length - 1).toBe(60);
  expect(text.endsWith('event: timeout\ndata: {"message":"stream duration exceeded"}\n\n')).toBe(true);
  expect([seen.stops, clock.pending]).toEqual([1, 0]);
});

test("no heartbeat comes before its time", async () => {
  const { clock, response, seen } = open();
  clock.advance(29_999);
  seen.sink?.close();
  expect(await response.text()).toBe("");
});

test("the end of the producer stops everything once, and later events are dropped", async () => {
  const { clock, leave, response, seen } = open((sink) => {
    sink.send("state", 1);
    sink.close();
    sink.close();
    sink.send("state", 2);
  });
  leave.abort();
  clock.advance(60 * minute);
  expect(await response.text()).toBe("event: state\ndata: 1\n\n");
  expect([seen.stops, clock.pending]).toEqual([1, 0]);
});

test("a client that leaves stops the producer and the timers", async () => {
  const { clock, leave, seen, response } = open();
  expect(clock.pending).toBe(2);
  leave.abort();
  seen.sink?.send("state", 1);
  expect([seen.stops, clock.pending]).toEqual([1, 0]);
  expect(await response.text()).toBe("");
});

test("a body that is cancelled stops the producer and the timers", async () => {
  const { clock, response, seen } = open();
  await response.body?.cancel();
  clock.advance(60 * minute);
  expect([seen.stops, clock.pending]).toEqual([1, 0]);
});
