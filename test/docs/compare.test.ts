import { expect, test } from "bun:test";
import { type Bindings, bind, compareOutput } from "./compare.ts";

const shown = ["job-3MPxZzsjcso0sKTYJqHwphsZVOX", "job-3MPxaCMrSTtkdEoSdQD2iiGq9oX"] as const;
const met = ["job-3MQ0ALGaIdNpaySzw3txPR4Pzer", "job-3MQ1sZWNNRlEqXlBnHIlL2ARO6P"] as const;

test("times, ages, versions and the width of columns do not count, anything else does", () => {
  const page = "web-1  0.1.0  2026-11-21T13:01:03.854Z  4s ago  (0.1 s)";
  expect(
    compareOutput(page, "web-1   0.2.0 2027-01-01T00:00:00Z  12s ago  (2.0 s)\n", new Map()),
  ).toBeUndefined();
  expect(compareOutput("1 ok (0.0 s)", "1 ok (0.0 to 0.1 s)", new Map())).toBeUndefined();
  expect(compareOutput(page, "web-2   0.2.0 2027-01-01T00:00:00Z  12s ago  (2.0 s)\n", new Map())).toContain(
    "web-2",
  );
  expect(compareOutput("2 peels: 2 ok", "2 peels: 1 ok, 1 failed", new Map())).toContain("1 failed");
  expect(compareOutput("a", "a\nb", new Map())).toContain("the page shows\na\n");
});

test("three dots are any lines, or the rest of one", () => {
  expect(compareOutput("...\nmasters  1 alive\n...", "a\nb\nmasters 1 alive\nc", new Map())).toBeUndefined();
  expect(compareOutput("a\n...", "a", new Map())).toBeUndefined();
  expect(compareOutput("pid: ...\nb", "pid: 12\nb", new Map())).toBeUndefined();
  expect(compareOutput("pid: ...\nb", "pid: 12\nc\nb", new Map())).toContain("c");
});

test("an id of the page stands for one id of the run, from then on", () => {
  const bindings: Bindings = new Map();
  expect(
    compareOutput(`${shown[0]}\n${shown[1]}\n${shown[0]}`, `${met[0]}\n${met[1]}\n${met[1]}`, bindings),
  ).toContain(met[1]);
  expect(
    compareOutput(`${shown[0]} began\n${shown[0]} ended`, `${met[0]} began\n${met[0]} ended`, bindings),
  ).toBeUndefined();
  expect(bind(`svc job show ${shown[0]}`, bindings)).toBe(`svc job show ${met[0]}`);
  expect(compareOutput(`${shown[0]} again`, `${met[1]} again`, bindings)).toContain("again");
});
