import { expect, test } from "bun:test";
import { manualClock, settle } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import type { Connection } from "./connection.ts";
import { startRecovery } from "./recover.ts";

const minute = 60_000;

function recovery(discover: () => Promise<readonly string[] | undefined>) {
  const clock = manualClock();
  const moves: (readonly string[])[] = [];
  const connection = {
    connected: true,
    urls: ["tls://old:4222"] as readonly string[],
    repoint: async (urls: readonly string[]) => moves.push(urls) > 0,
  };
  const log = recordingLog();
  const requested = { times: 0 };
  const halted = { now: false };
  const running = startRecovery({
    connection: connection as unknown as Connection,
    discover() {
      requested.times++;
      return discover();
    },
    isAtSite: () => false,
    isHalted: () => halted.now,
    clock,
    jitter: () => 0,
    log,
  });
  return { clock, connection, moves, requested, halted, running, log };
}

/** Lets what was started run to its end. */

test("nothing is asked in the first five minutes, nor when the bus was back in between", async () => {
  const { clock, connection, requested } = recovery(async () => []);
  connection.connected = false;
  clock.advance(5 * minute);
  expect(requested.times).toBe(0);
  connection.connected = true;
  clock.advance(10_000);
  connection.connected = false;
  clock.advance(5 * minute);
  expect(requested.times).toBe(0);
});

test("after five minutes the masters are asked, and the connection goes where they say", async () => {
  const { clock, connection, requested, moves } = recovery(async () => ["tls://new:4222"]);
  connection.connected = false;
  clock.advance(5 * minute + 20_000);
  await settle();
  expect([requested.times, moves]).toEqual([1, [["tls://new:4222"]]]);
});

test("when they cannot be asked, or say nothing, it is tried again later", async () => {
  let fails = true;
  const { clock, connection, requested, moves, log } = recovery(async () => {
    if (fails) throw new Error("no master answered");
    return undefined;
  });
  connection.connected = false;
  clock.advance(5 * minute + 20_000);
  await settle();
  expect([requested.times, moves, log.records.at(-1)?.level]).toEqual([1, [], "error"]);
  fails = false;
  clock.advance(3 * minute);
  await settle();
  expect([requested.times, moves]).toEqual([2, [["tls://old:4222"]]]);
});

test("stopping leaves no timer", () => {
  const { clock, running } = recovery(async () => []);
  running.stop();
  expect(clock.pending).toBe(0);
});

test("masters that refuse this peel are not asked where the bus is", async () => {
  const { clock, connection, requested, halted, running } = recovery(() =>
    Promise.resolve(["tls://new:4222"]),
  );
  connection.connected = false;
  halted.now = true;
  await clock.pass(60 * 60_000);
  expect(requested.times).toBe(0);
  halted.now = false;
  await clock.pass(6 * 60_000);
  expect(requested.times).toBe(1);
  running.stop();
});
