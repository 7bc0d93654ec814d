import { expect, test } from "bun:test";
import { recordingLog } from "../../../test/harness/log.ts";
import { encode } from "../../base/msgpack.ts";
import type { Bus } from "../../bus/connection/connect.ts";
import { ackSubject, returnSubject } from "../../bus/subjects/subjects.ts";
import type { JobEvent, JobNews } from "./events.ts";
import { receiveEvents } from "./received-events.ts";

type Callback = (error: Error | null, message: { subject: string; data: Uint8Array }) => void;

const returned = (fields: Record<string, unknown> = {}) =>
  encode({ success: true, retcode: 0, started_at: "", duration_ms: 1, ...fields });

/** What a master receives on a connection of the test, from peels of which one may send nothing. */
function setup() {
  let now = 1_000_000;
  const listening = new Map<string, Callback>();
  const reconnected = new Set<() => void>();
  const nats = {
    subscribe(pattern: string, { callback }: { callback: Callback }) {
      listening.set(pattern, callback);
      return { unsubscribe: () => listening.delete(pattern) };
    },
  };
  const peelBus = {
    nats: nats as unknown as Bus["nats"],
    onReconnect(run: () => void) {
      reconnected.add(run);
      return () => reconnected.delete(run);
    },
  };
  const noted: JobNews[] = [];
  const admit = (peel: string) => peel !== "flooding";
  const deps = { peelBus, admit, clock: { now: () => now }, log: recordingLog() };
  const received = receiveEvents(deps, (event) => void noted.push(event));
  const send = (subject: string, data: Uint8Array = new Uint8Array()) =>
    listening.get(subject.replace(/job-\d+/, "*").replace(/[^.]+$/, "*"))?.(null, { subject, data });
  /** Follows a job that began now, or then. */
  const follow = (jid: string, createdAt = now) => {
    const events: JobEvent[] = [];
    return { events, ...received.follow({ jid, createdAt }, (event) => void events.push(event)) };
  };
  return {
    ...{ received, noted, send, follow, listening, reconnected },
    sendReturn: (jid: string, bytes = 10) =>
      send(returnSubject(jid, "web-1"), returned({ return: "x".repeat(bytes) })),
    reconnect: () => {
      for (const run of reconnected) run();
    },
    pass(ms: number) {
      now += ms;
    },
    now: () => now,
  };
}

test("a follower gets what came a moment ago and then each event, in their order, and nothing of another job", () => {
  const { pass, now, send, follow, noted } = setup();
  pass(6_000);
  const createdAt = now();
  send(ackSubject("job-1", "web-1"));
  send(returnSubject("job-2", "web-1"), returned());
  send(returnSubject("job-1", "web-1"), returned({ return: "early" }));
  const { events, isWhole, stop } = follow("job-1", createdAt);
  expect([events.length, isWhole]).toEqual([2, true]);
  send(ackSubject("job-1", "web-2"));
  send(returnSubject("job-1", "web-2"), returned({ return: { late: [1] } }));
  send(returnSubject("job-2", "web-2"), returned());
  expect(events.map(({ jid, peel, return: value }) => [jid, peel, value?.return])).toEqual([
    ["job-1", "web-1", undefined],
    ["job-1", "web-1", "early"],
    ["job-1", "web-2", undefined],
    ["job-1", "web-2", { late: [1] }],
  ]);
  expect(noted.map(({ jid, peel }) => `${jid} ${peel}`)).toEqual([
    ...["job-1 web-1", "job-2 web-1", "job-1 web-1"],
    ...["job-1 web-2", "job-1 web-2", "job-2 web-2"],
  ]);
  stop();
  send(ackSubject("job-1", "web-3"));
  expect(events).toHaveLength(4);
});

test("an event is decoded once for the controller and all who follow its job", () => {
  const { send, follow, noted } = setup();
  const [first, second] = [follow("job-1"), follow("job-1")];
  send(returnSubject("job-1", "web-1"), returned({ return: ["value"] }));
  expect(first.events[0]?.return?.return).toEqual(["value"]);
  expect(second.events[0]).toBe(first.events[0] as JobEvent);
  expect(noted[0]).toBe(first.events[0] as JobEvent);
  first.stop();
  send(returnSubject("job-1", "web-2"), returned());
  expect([first.events.length, second.events.length]).toEqual([1, 2]);
});

test("an event that was missed and read later is passed on to those who follow its job", () => {
  const { received, follow } = setup();
  const [one, other] = [follow("job-1"), follow("job-2")];
  received.pass({ jid: "job-1", peel: "web-1", at: 1 });
  expect([one.events.length, other.events.length]).toEqual([1, 0]);
});

test("of a job that may be older than what is kept, or of which something was missed, a follower does not get everything", () => {
  const { pass, now, sendReturn, send, follow, reconnect } = setup();
  const isWhole = (createdAt = now()) => follow("job-1", createdAt).isWhole;
  expect(isWhole()).toBe(false);
  pass(6_000);
  const createdAt = now();
  sendReturn("job-1");
  pass(11_000);
  sendReturn("job-2");
  expect(isWhole(createdAt)).toBe(false);
  pass(6_000);
  expect(follow("job-2")).toMatchObject({ isWhole: true, events: [{ peel: "web-1" }] });
  reconnect();
  expect(follow("job-2")).toMatchObject({ isWhole: false, events: [] });
  pass(6_000);
  expect(isWhole()).toBe(true);
  send(returnSubject("job-3", "flooding"), returned());
  expect(isWhole()).toBe(false);
});

test("no more is kept than has room", () => {
  const { pass, now, sendReturn, follow } = setup();
  pass(6_000);
  const createdAt = now();
  for (let at = 0; at < 40; at++) sendReturn("job-1", 1024 * 1024 - 1_000);
  const { events, isWhole } = follow("job-1", createdAt);
  expect([events.length, isWhole]).toEqual([16, false]);
});

test("it listens no longer when it stops", () => {
  const { received, listening, reconnected } = setup();
  expect([listening.size, reconnected.size]).toEqual([3, 1]);
  received.stop();
  expect([listening.size, reconnected.size]).toEqual([0, 0]);
});
