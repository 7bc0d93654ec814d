import { afterAll, expect, test } from "bun:test";
import { createServer } from "node:net";
import { manualClock } from "../../../test/harness/clock.ts";
import { createHealth } from "./health.ts";
import { usualLimits } from "./limits.ts";

// It closes each connection: an answer that is not HTTP.
const mute = createServer((socket) => socket.destroy());
await new Promise<void>((resolve) => mute.listen(0, "127.0.0.1", () => resolve()));
afterAll(() => void mute.close());
const port = Object(mute.address()).port as number;
const never = new AbortController().signal;

test("silence counts only while the peel could have its port, and not before it could take it back", async () => {
  const clock = manualClock();
  let taken = true;
  const health = createHealth(
    { health: { host: "127.0.0.1", port }, limits: usualLimits, clock },
    { isTaken: () => taken, onWell() {} },
  );
  const next = () => {
    clock.advance(usualLimits.healthEveryMs);
    return health.check(never);
  };
  const results = async (times: number) => {
    const found = new Set<string>();
    for (let n = 0; n < times; n++) found.add(await next());
    return [...found];
  };
  expect(await results(20)).toEqual(["fine"]);
  taken = false;
  // The last look at a taken port was now: 80 s later it may still come back.
  expect(await results(8)).toEqual(["fine"]);
  expect(await results(usualLimits.healthTries - 1)).toEqual(["fine"]);
  expect(await results(1)).toEqual(["frozen"]);
});
