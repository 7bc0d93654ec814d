import { expect, test } from "bun:test";
import { createLive } from "./live.ts";

const wrote = (output: string, { peel = "web-1_example", skipped = 0 } = {}) => ({
  output: { peel, output, skipped },
});
const returned = { event: { jid: "job-1", peel: "web-1_example", at: 0, return: answer() } };

test("whole lines are shown as they come, and the begun one at the end", () => {
  const live = createLive();
  expect(live.hasOutput).toBe(false);
  expect(live.take(wrote("one\ntw"), 1)).toEqual(["one"]);
  expect(live.take(wrote("o"), 1)).toEqual([]);
  expect(live.take(wrote("\n\nthree"), 1)).toEqual(["two", ""]);
  expect(live.take(returned, 1)).toEqual(["three"]);
  expect(live.take(returned, 1)).toEqual([]);
  expect(live.hasOutput).toBe(true);
});

test("a line of one of several peels begins with its name, and each has its own begun line", () => {
  const live = createLive();
  expect(live.take(wrote("a"), 2)).toEqual([]);
  expect(live.take(wrote("b\n", { peel: "web-2_example" }), 2)).toEqual(["web-2.example: b"]);
  expect(live.take(wrote("\n", { skipped: 7 }), 2)).toEqual([
    "web-1.example: (7 characters left out)",
    "web-1.example: a",
  ]);
});

test("states are shown one by one", () => {
  const running = { peel: "web-1_example", done: 3, total: 9, failed: 1, current: "cmd.run \u001b[2J" };
  expect(createLive().take({ running }, 1)).toEqual(["3/9 states, 1 failed: cmd.run \\u001b[2J"]);
});

test("what a peel writes cannot act on the terminal, and a line without end takes little memory", () => {
  const live = createLive();
  expect(live.take(wrote("\u001b[31mred\u001b[0m\u001b[2Jx\r\u0007\n"), 1)).toEqual([
    "red\\u001b[2Jx\\u000d\\u0007",
  ]);
  for (let at = 0; at < 100; at++) live.take(wrote("x".repeat(1_200)), 1);
  expect(live.take(returned, 1)[0]).toHaveLength(4_096);
});

function answer() {
  return { success: true, retcode: 0, started_at: "", duration_ms: 1 };
}
