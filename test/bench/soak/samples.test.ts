import { expect, test } from "bun:test";
import { formatSamples, type Program, type Sample } from "./samples.ts";

const tenth = 0.1;

function program(role: Program["role"], pid: number, age: number, residentMib: number): Program {
  return { role, pid, age, residentMib, privateMib: 10, openFiles: 20, cpuMs: 5 };
}

/** Two hours of a bus that grows by 6 MiB an hour, and of a master that is killed after one. */
const samples = Array.from({ length: 21 }, (_, at): Sample => {
  const hours = at * tenth;
  const wobble = at % 2 === 0 ? 0.1 : -0.1;
  const master =
    hours < 1 ? program("killed master", 2, hours, 90) : program("killed master", 3, hours - 1, 60);
  return {
    hours,
    programs: [program("bus", 1, hours, 30 + 6 * hours + wobble), master],
    consumers: 7,
    streams: 3,
    storedMib: 1,
    files: 40,
    times: [10, 10, 10, 90],
  };
});

const rows = (warmUpHours: number) =>
  new Map(
    formatSamples(samples, warmUpHours)
      .split("\n")
      .map((line) => {
        const [name = "", ...cells] = line.trim().split(/ {2,}/);
        return [name, cells];
      }),
  );

test("each value has its first, median, greatest and last value, and its growth per hour", () => {
  const [unit, first, , max, last, perHour, , grows] = rows(0).get("bus: resident") ?? [];
  expect([unit, first, max, last, grows]).toEqual(["MiB", "30.10", "42.10", "42.10", "yes"]);
  expect(Number(perHour)).toBeCloseTo(6, 0);
  expect(rows(0).get("job, median")?.[1]).toBe("10.00");
});

test("a restart is no growth and no shrinking", () => {
  const [, first, , , last, perHour, , grows] = rows(0).get("killed master: resident") ?? [];
  expect([first, last, perHour, grows]).toEqual(["90.00", "60.00", "+0.00", "no"]);
});

test("the warm-up of each program is left out, also after a restart", () => {
  expect(rows(0.95).get("bus: resident")?.[1]).toBe("36.10");
  // The first one was killed before it was old enough, and the second one just is at the end.
  expect(rows(0.95).get("killed master: resident")?.[1]).toBe("60.00");
});
