import { expect, test } from "bun:test";
import { manualClock, settle } from "../../../test/harness/clock.ts";
import { fixedFacts } from "../../../test/harness/facts.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { decode, type Plain } from "../../base/msgpack.ts";
import type { Connection } from "../link/connection.ts";
import { publishFacts } from "./publish-facts.ts";

const minute = 60_000;
const ack = (value: unknown) => Promise.resolve(new TextEncoder().encode(JSON.stringify(value)));
const stored = () => ack({ stream: "KV_facts", seq: 1 });

function publishing(options: { answer?: () => Promise<Uint8Array>; connected?: boolean } = {}) {
  const clock = manualClock();
  const log = recordingLog();
  const requests: { subject: string; data: Plain }[] = [];
  const facts = fixedFacts({ os: "Debian" });
  const state = { connected: options.connected ?? true, answer: options.answer ?? stored };
  let connect = () => {};
  const connection = {
    get connected() {
      return state.connected;
    },
    request(subject: string, data: Uint8Array) {
      requests.push({ subject, data: decode(data) });
      return state.answer();
    },
    onConnect(run: () => void) {
      connect = run;
      if (state.connected) run();
      return () => {
        connect = () => {};
      };
    },
  };
  const running = publishFacts({
    connection: connection as unknown as Connection,
    peelId: "web-1",
    facts,
    clock,
    onStored: () => {},
    jitter: () => 0.5,
    log,
  });
  return { clock, log, requests, facts, state, running, connect: () => connect() };
}

test("stores once after the start, and then only what changed", async () => {
  const { clock, requests, facts, connect } = publishing();
  await settle();
  expect(requests).toEqual([{ subject: "$KV.facts.web-1", data: { os: "Debian" } }]);
  connect();
  connect();
  await settle();
  expect(requests).toHaveLength(1);
  clock.advance(200);
  facts.set("role", "web");
  await settle();
  expect(requests[1]?.data).toEqual({ os: "Debian", role: "web" });
  facts.set("role", "web");
  await clock.pass(minute);
  expect(requests).toHaveLength(2);
});

test("stores them once more when the bus has lost them, unless they are under way", async () => {
  const { clock, requests, running } = publishing();
  running.repeat();
  await settle();
  expect(requests).toHaveLength(1);
  clock.advance(9_999);
  running.repeat();
  await settle();
  expect(requests).toHaveLength(1);
  clock.advance(1);
  running.repeat();
  running.repeat();
  await settle();
  expect(requests.map(({ data }) => data)).toEqual([{ os: "Debian" }, { os: "Debian" }]);
});

test("waits for the connection", async () => {
  const { requests, state, connect } = publishing({ connected: false });
  await settle();
  expect(requests).toEqual([]);
  state.connected = true;
  connect();
  await settle();
  expect(requests).toHaveLength(1);
});

test.each([
  ["an error in the acknowledgement", () => ack({ error: { code: 503, description: "no space left" } })],
  ["a response that is not an acknowledgement", () => ack("x")],
  ["no answer", () => Promise.reject(new Error("TIMEOUT"))],
])("%s is tried again, later each time", async (_, answer) => {
  const { clock, log, requests, state } = publishing({ answer });
  await settle();
  for (const pauseMs of [7_500, 15_000, 30_000]) {
    clock.advance(pauseMs - 1);
    await settle();
    const before = requests.length;
    clock.advance(1);
    await settle();
    expect(requests).toHaveLength(before + 1);
  }
  expect(log.records.every(({ event }) => event === "facts not stored yet")).toBe(true);
  expect(log.records).toHaveLength(4);
  state.answer = stored;
  clock.advance(minute);
  await settle();
  expect(requests).toHaveLength(5);
  clock.advance(5 * minute);
  await settle();
  expect(requests).toHaveLength(5);
});

test("a connect retries pending facts at once", async () => {
  const { clock, requests, state, connect } = publishing({
    answer: () => Promise.reject(new Error("TIMEOUT")),
  });
  await settle();
  state.answer = stored;
  connect();
  await clock.pass(200);
  expect(requests).toHaveLength(2);
  clock.advance(5 * minute);
  await settle();
  expect(requests).toHaveLength(2);
});

test("a change while the bus stores is stored after it", async () => {
  const slow = Promise.withResolvers<Uint8Array>();
  const { clock, requests, facts, state } = publishing({ answer: () => slow.promise });
  await settle();
  facts.set("role", "web");
  facts.set("role", "db");
  await settle();
  expect(requests).toHaveLength(1);
  state.answer = stored;
  slow.resolve(await stored());
  await clock.pass(200);
  expect(requests.map(({ data }) => data)).toEqual([{ os: "Debian" }, { os: "Debian", role: "db" }]);
});

test("facts that change all the time are stored five times a second, and the last ones in any case", async () => {
  const { clock, requests, facts } = publishing();
  await settle();
  for (let change = 0; change < 10_000; change++) {
    facts.set("n", change);
    await clock.pass(1);
  }
  await clock.pass(200);
  expect(requests.length).toBeLessThanOrEqual(1 + 10_200 / 200);
  expect(requests.length).toBeGreaterThan(45);
  expect(requests.at(-1)?.data).toEqual({ os: "Debian", n: 9_999 });
});

test("a stopped one stores nothing more", async () => {
  const { clock, requests, facts, running } = publishing({
    answer: () => Promise.reject(new Error("TIMEOUT")),
  });
  await settle();
  running.stop();
  expect(clock.pending).toBe(0);
  facts.set("role", "web");
  await settle();
  expect(requests).toHaveLength(1);
});
