import { expect, test } from "bun:test";
import { callFunction } from "../../../test/harness/call.ts";
import { manualClock } from "../../../test/harness/clock.ts";
import { version } from "../../base/version.ts";

test("simple functions", async () => {
  expect(await callFunction("test.ping")).toBe(true);
  expect(await callFunction("test.true")).toBe(true);
  expect(await callFunction("test.false")).toBe(false);
  expect(await callFunction("test.echo", { text: "a b" })).toBe("a b");
  expect(await callFunction("test.version")).toBe(version);
  await expect(callFunction("test.fail", { message: "so be it" })).rejects.toThrow("so be it");
  await expect(callFunction("test.exception")).rejects.toThrow("failed as requested");
});

test("test.sleep waits for its duration, but not longer than its job", async () => {
  const clock = manualClock();
  const cancel = new AbortController();
  const slept = callFunction("test.sleep", { length: "1m" }, { clock });
  const woken = callFunction("test.sleep", { length: "1h" }, { clock, signal: cancel.signal });
  clock.advance(60_000);
  expect(await slept).toBe(true);
  cancel.abort(new Error("cancelled"));
  await expect(woken).rejects.toThrow("cancelled");
  expect(clock.pending).toBe(0);
});
