import { expect, test } from "bun:test";
import { formatSteps, type Step } from "./steps.ts";

/** A fleet whose bus takes 10 MiB more every hour, and 1 ms more for each job. */
function step(at: number): Step {
  const hours = at / 10;
  return {
    hours,
    jobs: at * 1800,
    ended: 1800,
    stored: at * 2700,
    p50Ms: 10,
    p99Ms: 20,
    residentMib: { bus: 30 + hours * 10, master: 100, peel: 77 },
    cpuSeconds: { bus: 1.8 * (5 + hours), master: 3.6, peel: 9 },
  };
}

test("a row for each tenth, and how much grows per hour", () => {
  const steps = Array.from({ length: 10 }, (_, at) => step(at + 1));
  const rows = formatSteps(steps)
    .split("\n")
    .map((line) => line.trim().split(/ {2,}/));
  expect(rows).toHaveLength(13);
  expect(rows[1]?.join(" ")).toBe("6.0 1800 2700 10.00 20.00 31.0 100.0 77.0 5.10 2.00 5.00");
  const slopes = "18000 27000 +0.00 +0.00 +10.0 +0.0 +0.0 +1.00 +0.00 +0.00";
  expect(rows[11]?.join(" ")).toBe(`per hour ${slopes}`);
  expect(rows[12]?.join(" ")).toBe(`second half ${slopes}`);
});

test("what grew in the first half only is in the first slope alone", () => {
  const steps = Array.from({ length: 10 }, (_, at) => step(Math.min(at + 1, 5))).map((each, at) => ({
    ...each,
    hours: (at + 1) / 10,
  }));
  const [over, second] = formatSteps(steps)
    .split("\n")
    .slice(-2)
    .map((line) => line.trim().split(/ {2,}/));
  expect(over?.[5]).toBe("+4.2");
  expect(second?.[5]).toBe("+0.0");
});
