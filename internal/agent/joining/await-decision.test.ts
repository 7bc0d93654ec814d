import { afterAll, beforeAll, expect, test } from "bun:test";
import { manualClock } from "../../../test/harness/clock.ts";
import {
  type Impostor,
  startImpostor,
  type TestAuthority,
  testAuthority,
} from "../../../test/harness/impostor.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { createTrust } from "../../identity/trust/anchor.ts";
import { awaitDecision } from "./await-decision.ts";
import { createMasterClient } from "./master-client.ts";

let fleet: TestAuthority;
let master: Impostor;
let stream: () => Response | Promise<Response>;
let status: () => Response;

beforeAll(async () => {
  fleet = await testAuthority("Fleet");
  master = startImpostor({
    tls: await fleet.issue(),
    answer: (_, { pathname }) => (pathname.endsWith("/stream") ? stream() : status()),
  });
});
afterAll(() => master[Symbol.asyncDispose]());

const pending = () => Response.json({ state: "pending" });
const refused = () => new Response("{}", { status: 404 });

/** Waits with a clock that skips every pause. */
function wait(jitter = 0.999_999) {
  const clock = manualClock();
  const abort = new AbortController();
  const pauses: number[] = [];
  const log = {
    ...recordingLog(),
    debug(event: string, fields: Record<string, unknown> = {}) {
      if (event !== "waiting for a decision") return;
      pauses.push(Number(fields.next_look_in_ms));
      queueMicrotask(() => clock.advance(Number(fields.next_look_in_ms)));
    },
    warn: () => {},
    with: () => log,
  };
  const shared = { clock, log, signal: abort.signal };
  const rung = { rung: 1 as const, ca: { path: "ca.crt", pem: fleet.rootPem } };
  const trust = createTrust({ ...shared, rung, storeAnchor: () => {} });
  const masters = createMasterClient({ ...shared, urls: [master.url], trust, jitter: () => jitter });
  const state = awaitDecision({ ...shared, masters, jitter: () => jitter }, "enr-1");
  return { state, pauses, clock, signal: abort.signal };
}

test("polls at 10 s to 5 min without a stream", async () => {
  let polls = 8;
  stream = refused;
  status = () => (polls-- > 1 ? pending() : Response.json({ state: "approved" }));
  const { state, pauses } = wait();
  expect(await state).toBe("approved");
  expect(pauses).toEqual([10_000, 20_000, 40_000, 80_000, 160_000, 300_000, 300_000, 300_000]);
});

test("jitter shortens a pause to no less than its half", async () => {
  stream = refused;
  status = () => Response.json({ state: "rejected" });
  const { state, pauses } = wait(0);
  expect(await state).toBe("rejected");
  expect(pauses).toEqual([5_000]);
});

test("a 404 is reported as gone", async () => {
  stream = refused;
  status = refused;
  expect(await wait().state).toBe("gone");
});

test("a stream that lasted is opened again soon, and pauses start small", async () => {
  const { promise: held, resolve: hold } = Promise.withResolvers<ReadableStreamDefaultController>();
  let opened = 0;
  stream = () => {
    opened++;
    if (opened === 1) return new Response(new ReadableStream({ start: (sink) => hold(sink) }));
    return new Response('event: state\ndata: {"state":"approved"}\n\n');
  };
  status = pending;
  const { state, pauses, clock } = wait();
  const sink = await held;
  // The head of the answer comes with the first bytes.
  sink.enqueue(Buffer.from(": heartbeat\n\n"));
  clock.advance(14_000);
  sink.close();
  expect(await state).toBe("approved");
  expect(pauses).toEqual([1_000]);
});

test("a week of waiting leaves nothing behind", async () => {
  const rounds = 2_016;
  let polls = 0;
  const measured: { listeners: number; timers: number; heap: number }[] = [];
  stream = refused;
  status = () => (polls < rounds ? pending() : Response.json({ state: "approved" }));
  let listeners = 0;
  const { add, remove } = countListeners((change) => {
    listeners += change;
  });
  const { state, signal, clock } = wait();
  const poll = status;
  status = () => {
    polls++;
    // While a request is under way: its own listener and timer, and no others.
    if (polls === 200 || polls === rounds) {
      Bun.gc(true);
      measured.push({ listeners, timers: clock.pending, heap: process.memoryUsage().heapUsed });
    }
    return poll();
  };
  add(signal);
  expect(await state).toBe("approved");
  remove(signal);
  const [early, late] = measured;
  expect(early).toMatchObject({ listeners: 1, timers: 1 });
  expect(late).toMatchObject({ listeners: 1, timers: 1 });
  expect([listeners, clock.pending]).toEqual([0, 0]);
  expect((late?.heap ?? 0) - (early?.heap ?? 0)).toBeLessThan(1024 * 1024);
}, 60_000);

/** Counts what is registered on a signal, from now on. */
function countListeners(count: (change: number) => void) {
  return {
    add(signal: AbortSignal) {
      const { addEventListener, removeEventListener } = signal;
      const known = new Set<unknown>();
      signal.addEventListener = (type: string, run: EventListener, options?: AddEventListenerOptions) => {
        known.add(run);
        count(1);
        addEventListener.call(signal, type, run, options);
      };
      signal.removeEventListener = (type: string, run: EventListener) => {
        if (known.delete(run)) count(-1);
        removeEventListener.call(signal, type, run);
      };
    },
    remove(signal: AbortSignal) {
      Reflect.deleteProperty(signal, "addEventListener");
      Reflect.deleteProperty(signal, "removeEventListener");
    },
  };
}
