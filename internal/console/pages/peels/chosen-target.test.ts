import { expect, test } from "bun:test";
import { parseTarget } from "../../../tree/targets/mod.ts";
import { chosenTarget } from "./chosen-target.ts";

const peels = (count: number) =>
  Array.from({ length: count }, (_, at) => ({ id: `web-${String(at).padStart(3, "0")}.example` }));

test("chosen peels are one target that masters take, up to its greatest length", () => {
  expect(chosenTarget(peels(2))).toBe("L@web-000.example,web-001.example");
  const fitting = chosenTarget(peels(255));
  expect(fitting?.length).toBe(4_081);
  expect(() => parseTarget(fitting ?? "")).not.toThrow();
  expect(chosenTarget(peels(256))).toBeUndefined();
});
