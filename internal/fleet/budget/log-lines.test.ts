import { expect, test } from "bun:test";
import { manualClock } from "../../../test/harness/clock.ts";
import { createLog } from "../../base/log.ts";
import { createLogLines } from "./log-lines.ts";

function setup(perMinute = 10) {
  const clock = manualClock();
  const lines: Record<string, unknown>[] = [];
  const log = createLog({
    level: "debug",
    format: "json",
    clock,
    write: (line) => lines.push(JSON.parse(line)),
  });
  return { clock, lines, said: createLogLines(perMinute, clock, log) };
}

test("ten lines of one cause and peel a minute, then one with a count", () => {
  const { clock, lines, said } = setup();
  for (let n = 0; n < 500; n++) said.say("warn", "hello refused", "web1", { n });
  said.say("warn", "hello refused", "web2");
  said.say("warn", "fetch refused", "web1");
  expect(lines).toHaveLength(12);
  expect(lines[9]).toMatchObject({ level: "warn", peel_id: "web1", n: 9 });
  clock.advance(60_000);
  expect(lines.slice(12)).toMatchObject([{ peel_id: "web1", line: "hello refused", lines: 490 }]);
  said.say("warn", "hello refused", "web1");
  expect(lines).toHaveLength(14);
  clock.advance(60_000);
  expect(lines).toHaveLength(14);
  said.stop();
  expect(clock.pending).toBe(0);
});

test("0 means no limit", () => {
  const { lines, said } = setup(0);
  for (let n = 0; n < 50; n++) said.say("info", "x", "web1");
  expect(lines).toHaveLength(50);
});
