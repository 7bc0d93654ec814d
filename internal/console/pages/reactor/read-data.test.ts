import { expect, test } from "bun:test";
import { readData } from "./read-data.ts";

test("the data of an event is a JSON object, or nothing", () => {
  expect(readData(" ")).toEqual({});
  expect(readData('{"percent": 95}')).toEqual({ percent: 95 });
  expect(() => readData("{")).toThrow("data is not JSON: ");
  for (const text of ["[]", "3", "null", '"x"']) {
    expect(() => readData(text)).toThrow("data must be a JSON object, such as");
  }
});
