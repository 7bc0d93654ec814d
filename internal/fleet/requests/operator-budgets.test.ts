import { expect, test } from "bun:test";
import { manualClock } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { createOperatorBudgets } from "./operator-budgets.ts";

function setup() {
  const [clock, log] = [manualClock(), recordingLog()];
  const limited: string[] = [];
  const budgets = createOperatorBudgets({ onLimited: (operator) => limited.push(operator), clock, log });
  /** Sends requests that are done at once. @returns how many were */
  const send = async (sender: string, count: number): Promise<number> => {
    let done = 0;
    for (let at = 0; at < count; at++) {
      await budgets.run(sender, async () => void done++).catch(() => {});
    }
    return done;
  };
  return { budgets, clock, log, limited, send };
}

test("a sender has 200 requests at once and 50 a second, and others have theirs", async () => {
  const { budgets, clock, limited, send } = setup();
  expect(await send("UA", 300)).toBe(200);
  expect(await send("UB", 10)).toBe(10);
  const refused = budgets.run("UA", async () => {});
  await expect(refused).rejects.toMatchObject({
    kind: "rate_limited",
    retryAfterMs: 20,
    message: "too many requests of this operator: try again in 1s",
  });
  clock.advance(1_000);
  expect(await send("UA", 100)).toBe(50);
  clock.advance(60_000);
  expect(await send("UA", 300)).toBe(200);
  expect(limited).toEqual(Array(limited.length).fill("unknown"));
});

test("8 requests of a sender are worked on, 256 wait, and none of others waits for them", async () => {
  const { budgets, clock } = setup();
  let working = 0;
  const end = Promise.withResolvers<void>();
  const work = () => {
    working++;
    return end.promise;
  };
  const sent: Promise<unknown>[] = [];
  for (let at = 0; at < 8 + 256; at++) {
    clock.advance(20);
    sent.push(budgets.run("UA", work));
  }
  clock.advance(1_000);
  await expect(budgets.run("UA", work)).rejects.toMatchObject({
    kind: "rate_limited",
    retryAfterMs: 1_000,
    message: "256 requests of this operator wait already: try again in 1s",
  });
  expect(working).toBe(8);
  expect(await budgets.run("UB", async () => "done")).toBe("done");
  end.resolve();
  await Promise.all(sent);
  expect(working).toBe(264);
});

test("requests of a sender hold 16 MiB, those that wait with them", async () => {
  const { budgets } = setup();
  const end = Promise.withResolvers<void>();
  const mebibyte = 1024 * 1024;
  const sent = Array.from({ length: 16 }, () => budgets.run("UA", () => end.promise, mebibyte));
  await expect(budgets.run("UA", async () => {}, 1)).rejects.toMatchObject({
    message: "the requests of this operator that wait are too large together: try again in 1s",
  });
  expect(await budgets.run("UB", async () => "done", mebibyte)).toBe("done");
  end.resolve();
  await Promise.all(sent);
  expect(await budgets.run("UA", async () => "done", 16 * mebibyte)).toBe("done");
});

test("a failure is that of the work, and gives its place back", async () => {
  const { budgets } = setup();
  for (let at = 0; at < 20; at++) {
    await expect(budgets.run("UA", () => Promise.reject(new Error("no")))).rejects.toThrow("no");
  }
});

test("a sender has 16 streams", () => {
  const { budgets } = setup();
  const ends = Array.from({ length: 16 }, () => budgets.beginStream("UA"));
  expect(() => budgets.beginStream("UA")).toThrow(
    "this operator follows 16 streams already: try again in 1s",
  );
  budgets.beginStream("UB")();
  ends[0]?.();
  ends[0]?.();
  budgets.beginStream("UA");
  expect(() => budgets.beginStream("UA")).toThrow("16 streams");
});

test("more than 50 wrong signatures in a second suspend their sender for a minute, and nobody else", async () => {
  const { budgets, clock, send } = setup();
  for (let second = 0; second < 3; second++) {
    for (let at = 0; at < 50; at++) budgets.noteForged("UA");
    clock.advance(1_000);
  }
  expect(await send("UA", 1)).toBe(1);
  for (let at = 0; at < 51; at++) budgets.noteForged("UA");
  await expect(budgets.run("UA", async () => {})).rejects.toMatchObject({
    kind: "rate_limited",
    retryAfterMs: 60_000,
    message: "too many requests with this key had wrong signatures: try again in 1m",
  });
  expect(await send("UB", 1)).toBe(1);
  clock.advance(59_999);
  expect(await send("UA", 1)).toBe(0);
  clock.advance(1);
  expect(await send("UA", 1)).toBe(1);
});

test("ten times the budget for ten seconds is logged and shown by name, for a minute", async () => {
  const { budgets, clock, log, limited, send } = setup();
  budgets.noteName("UA", "eve");
  for (let at = 0; at < 12; at++) {
    await send("UA", 600);
    clock.advance(1_000);
  }
  expect(budgets.flooding()).toEqual(["eve"]);
  const events = log.records.map(({ event, fields }) => [event, fields?.operator]);
  expect(events).toEqual([
    ["requests of an operator are refused", "eve"],
    ["an operator sends ten times as many requests as it may; svc operator disable ends it", "eve"],
  ]);
  expect(new Set(limited)).toEqual(new Set(["eve"]));
  clock.advance(61_000);
  expect(budgets.flooding()).toEqual([]);
});

test("twice the budget is refused in part, and does not count as a flood", async () => {
  const { budgets, clock, send } = setup();
  for (let at = 0; at < 30; at++) {
    await send("UA", 100);
    clock.advance(1_000);
  }
  expect(budgets.flooding()).toEqual([]);
});
