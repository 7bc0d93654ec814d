import { expect, test } from "bun:test";
import { planWaves, sizesOf, wavesInWords } from "./plan.ts";

const usual = { canary: "1", waves: "25%", max_failures: "0" };

test("waves are planned as masters plan them", () => {
  expect(planWaves(10, usual)).toEqual({ waves: [1, 3, 3, 3], maxFailures: 0 });
  expect(planWaves(200, { canary: "0", waves: "5%, 45%", max_failures: "2%" })).toEqual({
    waves: [10, 90, 90, 10],
    maxFailures: 4,
  });
  expect(planWaves(1, { ...usual, waves: "" })).toEqual({ waves: [1], maxFailures: 0 });
});

test("a mistake is shown at its field", () => {
  expect(planWaves(10, { canary: "one", waves: "25%,x", max_failures: "-1" })).toEqual({
    problems: {
      canary: '"one" is neither a number of peels, such as 10, nor 0% to 100%',
      waves: '"x" is neither a number of peels, such as 10, nor 0% to 100%',
      max_failures: '"-1" is neither a number of peels, such as 10, nor 0% to 100%',
    },
  });
  expect(planWaves(10, { ...usual, waves: "0" })).toEqual({
    problems: { waves: "a wave needs at least one peel" },
  });
  expect(planWaves(5_000, { ...usual, waves: "1" })).toEqual({
    problems: { waves: "more than 1000 waves; make them larger" },
  });
});

test("waves of the same size are named together", () => {
  expect(wavesInWords([1, 25, 25, 25, 9])).toBe("5 waves: 1, then 3 of 25, then 9");
  expect(wavesInWords([4])).toBe("1 wave of 4");
  expect(wavesInWords([2, 2])).toBe("2 waves of 2");
  expect(sizesOf(" 10%,25% 3 ")).toEqual(["10%", "25%", "3"]);
});
