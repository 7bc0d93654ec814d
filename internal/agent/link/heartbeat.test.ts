import { expect, test } from "bun:test";
import { manualClock } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { decode } from "../../base/msgpack.ts";
import type { Connection } from "./connection.ts";
import { startHeartbeat } from "./heartbeat.ts";

test("a heartbeat names the command keys only while one is replaced or missing", async () => {
  const stored: unknown[] = [];
  const forms: unknown[] = [];
  const connection: Pick<Connection, "connected" | "request" | "onConnect"> = {
    connected: true,
    request(_, data) {
      const value = decode(data) as { knows_command_keys?: unknown; command_form?: unknown };
      stored.push(value.knows_command_keys);
      forms.push(value.command_form);
      return Promise.resolve(new Uint8Array());
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
  heartbeat.stop();
  expect(stored).toEqual([undefined, ["A"], ["A", "B"]]);
  // Masters sign once for many peels only where all of them say that they open it.
  expect(forms).toEqual([2, 2, 2]);
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
      return Promise.resolve(new Uint8Array());
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
  heartbeat.stop();
  expect(stored).toEqual([says]);
});
