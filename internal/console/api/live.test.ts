import { expect, test } from "bun:test";
import { signal } from "@preact/signals";
import { manualClock } from "../../../test/harness/clock.ts";
import { createLive, eventsPath, type Source } from "./live.ts";

/** A stream as a browser has it, which the test plays. */
class FakeSource implements Source {
  readyState = 0;
  private readonly listeners = new Map<string, (event: MessageEvent) => void>();
  readonly path: string;
  constructor(path: string) {
    this.path = path;
  }
  addEventListener(type: string, run: (event: MessageEvent) => void) {
    this.listeners.set(type, run);
  }
  close() {
    this.readyState = 2;
  }
  report(type: string, data?: object) {
    this.listeners.get(type)?.(new MessageEvent(type, { data: JSON.stringify(data) }));
  }
}

function startLive() {
  const clock = manualClock();
  const sources: FakeSource[] = [];
  let refused = 0;
  const live = createLive({
    clock,
    open(after) {
      const source = new FakeSource(eventsPath(after));
      sources.push(source);
      return source;
    },
    onRefused: () => void refused++,
  });
  live.start();
  const newest = () => sources.at(-1) ?? new FakeSource("");
  newest().report("open");
  return { clock, live, sources, newest, refused: () => refused };
}
const event = (tag: string, position: string) => ({ id: position, tag, position });

test("events are delivered together, at most ten times a second, to subscribers of their tags", () => {
  const { clock, live, newest } = startLive();
  const reported: string[][] = [];
  const end = live.on(["svc/job/"], (events) => reported.push(events.map(({ position }) => position)));
  for (const at of ["a", "b", "c"]) newest().report("event", event("svc/job/1/created", at));
  newest().report("event", event("svc/peel/x/lost", "d"));
  expect(reported).toEqual([]);
  clock.advance(100);
  newest().report("event", event("svc/job/1/ended", "e"));
  clock.advance(100);
  expect(reported).toEqual([["a", "b", "c"], ["e"]]);
  end();
  newest().report("event", event("svc/job/1/ended", "f"));
  clock.advance(100);
  expect(reported).toHaveLength(2);
});

test("a stream that the browser gave up begins again behind the last event", () => {
  const { clock, live, sources, newest, refused } = startLive();
  newest().report("event", event("a", "1.2/3"));
  const brokenAt = clock.now();
  newest().readyState = 2;
  newest().report("error");
  expect(live.brokenSince.value).toBeUndefined();
  clock.advance(1_500);
  expect(live.brokenSince.value).toBe(brokenAt);
  clock.advance(500);
  expect(sources.map(({ path }) => path)).toEqual(["/api/v1/events", "/api/v1/events?after=1.2%2F3"]);
  expect(refused()).toBe(1);
  // A master may take the stream while its bus is away.
  newest().report("open");
  expect([live.brokenSince.value, live.isLive.value]).toEqual([brokenAt, false]);
  newest().report("alive");
  expect([live.brokenSince.value, live.isLive.value, live.returns.value]).toEqual([undefined, true, 1]);
});

test("a stream on which nothing comes is not live since its last sign of life", () => {
  const { clock, live, newest } = startLive();
  for (const type of ["alive", "event", "alive"]) {
    clock.advance(6_000);
    newest().report(type, event("a", "1"));
  }
  const answeredAt = clock.now();
  clock.advance(6_999);
  expect([live.brokenSince.value, live.isLive.value]).toEqual([undefined, true]);
  clock.advance(1);
  expect([live.brokenSince.value, live.isLive.value]).toEqual([answeredAt, false]);
  clock.advance(60_000);
  expect(live.brokenSince.value).toBe(answeredAt);
  newest().report("alive");
  expect([live.brokenSince.value, live.isLive.value, live.returns.value]).toEqual([undefined, true, 1]);
});

test("a stream that never opens is not live either", () => {
  const clock = manualClock();
  const live = createLive({ clock, open: () => new FakeSource(""), onRefused: () => {} });
  live.start();
  const startedAt = clock.now();
  expect(live.isLive.value).toBe(false);
  clock.advance(7_000);
  expect(live.brokenSince.value).toBe(startedAt);
});

test("while a page has a stream of its own, that one counts, and nothing is expected of the general one", () => {
  const { clock, live, newest } = startLive();
  const own = { brokenSince: signal<number | undefined>(undefined), isLive: signal(true) };
  const resume = live.rest(own);
  clock.advance(60_000);
  expect([live.brokenSince.value, live.isLive.value]).toEqual([undefined, true]);
  own.brokenSince.value = 7;
  own.isLive.value = false;
  expect([live.brokenSince.value, live.isLive.value]).toEqual([7, false]);
  resume();
  newest().report("open");
  expect([live.brokenSince.value, live.isLive.value]).toEqual([undefined, true]);
});

test("without a stream, answers to requests say whether the fleet answers", () => {
  const clock = manualClock();
  const live = createLive({ clock, open: () => new FakeSource(""), onRefused: () => {} });
  live.note(true);
  expect(live.isLive.value).toBe(true);
  live.note(false);
  const failedAt = clock.now();
  clock.advance(1_500);
  expect(live.brokenSince.value).toBe(failedAt);
  live.note(true);
  expect([live.brokenSince.value, live.returns.value]).toEqual([undefined, 1]);
});

test("of what arrives in a tab that sleeps the newest is kept, and everything counts as old", () => {
  const { clock, live, newest } = startLive();
  const reported: string[] = [];
  live.on(["svc/"], (events) => reported.push(...events.map(({ position }) => position)));
  for (let at = 0; at < 100_000; at++) newest().report("event", event("svc/peel/x/lost", `${at}`));
  clock.advance(100);
  expect(reported.length).toBeLessThanOrEqual(10_000);
  expect([reported.at(-1), live.returns.value]).toEqual(["99999", 1]);
  newest().report("event", event("svc/peel/x/lost", "next"));
  clock.advance(100);
  expect([reported.at(-1), live.returns.value]).toEqual(["next", 1]);
});

test("a short break is not worth a word", () => {
  const { clock, live, newest } = startLive();
  newest().report("error");
  clock.advance(1_000);
  newest().report("open");
  clock.advance(5_000);
  newest().report("alive");
  clock.advance(5_000);
  expect([live.brokenSince.value, live.returns.value]).toEqual([undefined, 0]);
});
