import { expect, test } from "bun:test";
import { manualClock } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { decode } from "../../base/msgpack.ts";
import { readGoodbye } from "../../wire/heartbeat.ts";
import type { Connection } from "./connection.ts";
import { startHeartbeat } from "./heartbeat.ts";

const acknowledged = (seq: number) => Buffer.from(JSON.stringify({ stream: "KV_peel-heartbeat", seq }));

test("a heartbeat names the command keys only while one is replaced or missing", async () => {
  const stored: unknown[] = [];
  const connection: Pick<Connection, "connected" | "request" | "onConnect"> = {
    connected: true,
    request(_, data) {
      const value = decode(data) as { knows_command_keys?: unknown };
      stored.push(value.knows_command_keys);
      return Promise.resolve(acknowledged(1));
    },
    onConnect: () => () => {},
  };
  const commandKeys = { current: ["A"] };
  let lacksKey = false;
  const heartbeat = startHeartbeat({
    connection: connection as Connection,
    peelId: "web-1",
    refused: {},
    commandKeys,
    lacksKey: () => lacksKey,
    clock: manualClock(),
    log: recordingLog(),
  });
  await heartbeat.store();
  lacksKey = true;
  await heartbeat.store();
  lacksKey = false;
  commandKeys.current = ["A", "B"];
  await heartbeat.store();
  expect(stored).toEqual([undefined, ["A"], ["A", "B"]]);
  await heartbeat.stop();
});

test.each([
  ["a peel that obeys masters says nothing of administrators", undefined, undefined],
  ["one that insists says which it knows", { digest: "abc" }, "abc"],
  ["one that insists and knows none says that", { digest: undefined }, ""],
])("%s", async (_, insistsOn, says) => {
  const stored: unknown[] = [];
  const connection = {
    connected: true,
    request(_: string, data: Uint8Array) {
      stored.push((decode(data) as { administrators?: unknown }).administrators);
      return Promise.resolve(acknowledged(1));
    },
    onConnect: () => () => {},
  };
  const heartbeat = startHeartbeat({
    connection: connection as unknown as Connection,
    ...{ peelId: "web-1", refused: {}, commandKeys: { current: ["A"] }, lacksKey: () => false },
    ...(insistsOn === undefined ? {} : { insistsOn }),
    ...{ clock: manualClock(), log: recordingLog() },
  });
  await heartbeat.store();
  expect(stored).toEqual([says]);
  await heartbeat.stop();
});

function goodbyeFixture() {
  const stored: (number | undefined)[] = [];
  const state = { connected: true, seq: 40, answers: true };
  const clock = manualClock();
  const connection = {
    get connected() {
      return state.connected;
    },
    request(_: string, data: Uint8Array) {
      if (!state.answers) return Promise.reject(new Error("timeout"));
      stored.push(readGoodbye(data));
      return Promise.resolve(acknowledged(++state.seq));
    },
    onConnect: () => () => {},
  };
  const heartbeat = startHeartbeat({
    connection: connection as unknown as Connection,
    ...{ peelId: "web-1", refused: {}, commandKeys: { current: ["A"] }, lacksKey: () => false },
    ...{ clock, log: recordingLog() },
  });
  return { stored, state, clock, heartbeat };
}

test("a peel that stops says goodbye once, naming its last heartbeat, and no heartbeat after it", async () => {
  const { stored, clock, heartbeat } = goodbyeFixture();
  await heartbeat.store();
  await heartbeat.store();
  await heartbeat.stop();
  clock.advance(60_000);
  expect(stored).toEqual([undefined, undefined, 42]);
  expect(clock.pending).toBe(0);
});

test("a heartbeat that is under way is waited for, so that it does not overtake the goodbye", async () => {
  const { stored, heartbeat } = goodbyeFixture();
  const under = heartbeat.store();
  await heartbeat.stop();
  await under;
  expect(stored).toEqual([undefined, 41]);
});

test.each([
  ["nothing was heard of it", 0, {}],
  ["it is not connected", 1, { connected: false }],
  ["the bus does not answer", 1, { answers: false }],
])("without a goodbye a peel stops as well: %s", async (_, beats, then) => {
  const { stored, state, heartbeat } = goodbyeFixture();
  for (let beat = 0; beat < beats; beat++) await heartbeat.store();
  Object.assign(state, then);
  await heartbeat.stop();
  expect(stored).toHaveLength(beats);
});
