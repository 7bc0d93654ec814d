import { expect, test } from "bun:test";
import { until } from "./until.ts";

test("what is found is returned as soon as it is wanted", async () => {
  let checks = 0;
  expect(
    await until(
      () => ++checks,
      (found) => found === 3,
    ),
  ).toBe(3);
  expect(await until(async () => "there")).toBe("there");
});

test("what never comes fails, with what was found last; what the look throws fails at once", async () => {
  await expect(
    until(
      () => ({ state: "down" }),
      ({ state }) => state === "up",
      0,
    ),
  ).rejects.toThrow('not within 0 ms: {"state":"down"}');
  await expect(until(() => Promise.reject(new Error("no answer")))).rejects.toThrow("no answer");
});

test("between two looks others have the processor", async () => {
  const turns: string[] = [];
  setImmediate(() => turns.push("another"));
  await until(() => turns.push("look") > 1);
  expect(turns).toEqual(["look", "another", "look"]);
});
