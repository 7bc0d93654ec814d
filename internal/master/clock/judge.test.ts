import { expect, test } from "bun:test";
import fc from "fast-check";
import { judgeClock } from "./judge.ts";

const second = 1_000;
const minute = 60 * second;
const day = 24 * 60 * minute;

test.each<[string, number, number[], string, RegExp | undefined]>([
  ["as the bus", 0, [], "up", undefined],
  ["a little off", 5 * second, [], "up", undefined],
  ["6 s ahead", 6 * second, [], "degraded", /the clock of this host is 6s ahead of that of the bus/],
  ["a minute behind", -minute, [], "degraded", /is 1m behind that of the bus/],
  ["200 days ahead", 200 * day, [], "down", /is 200d ahead of .*decides and signs nothing/],
  ["200 days ahead, while the other master is right", 200 * day, [0], "down", /this host is 200d ahead/],
  ["right, while another master is wrong", 0, [200 * day], "up", undefined],
  ["as the other master: the bus is behind", day, [day], "degraded", /clock of the bus is 24h behind/],
  ["all three differ", day, [-day], "down", /this host is 24h ahead/],
  ["as one of three others", day, [day, 0, 0], "down", /this host/],
  ["as two of three others", day, [day, day + second, 0], "degraded", /the clock of the bus/],
])("a clock %s", (_, own, others, status, message) => {
  const judged = judgeClock({ own, others });
  expect(judged.status).toBe(status as typeof judged.status);
  if (message === undefined) expect(judged.message).toBeUndefined();
  else expect(judged.message).toMatch(message);
});

test("of clocks that differ by more than a minute from each other, the bus and at most one more are trusted", () => {
  const difference = fc.integer({ min: -10, max: 10 }).map((hours) => hours * 60 * minute);
  fc.assert(
    fc.property(fc.uniqueArray(difference, { minLength: 1, maxLength: 6 }), (clocks) => {
      const sound = clocks.filter((own, i) => {
        const others = clocks.filter((_, other) => other !== i);
        return judgeClock({ own, others }).status !== "down";
      });
      expect(sound.every((own) => own === 0)).toBe(true);
    }),
  );
});
