import { expect, test } from "bun:test";
import { manualClock, settle } from "../../../test/harness/clock.ts";
import { caughtUpInTime } from "./caught-up-in-time.ts";

test("what is read is waited for, and a first reading for five seconds", async () => {
  const clock = manualClock();
  const ready = Promise.withResolvers<void>();
  let checks = 0;
  const watch = {
    ready: ready.promise,
    async caughtUp() {
      checks++;
    },
  };
  const late = caughtUpInTime(watch, "tokens", clock).catch((thrown) => thrown);
  await clock.pass(4_999);
  let isOver = false;
  void late.then(() => {
    isOver = true;
  });
  await settle();
  expect(isOver).toBe(false);
  await clock.pass(1);
  const message = "the tokens that are stored are not read yet: try again";
  expect(await late).toMatchObject({ kind: "unavailable", message });

  const inTime = caughtUpInTime(watch, "tokens", clock);
  ready.resolve();
  await inTime;
  expect(checks).toBe(1);
  await clock.pass(10_000);
});
