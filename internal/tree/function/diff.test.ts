import { expect, test } from "bun:test";
import { describeChange } from "./diff.ts";

const bytes = (text: string) => Buffer.from(text);
const lines = (count: number, prefix: string) =>
  Array.from({ length: count }, (_, at) => `${prefix}${at}\n`).join("");

test("a change is a unified diff with three lines around it", async () => {
  const before = bytes("a\nb\nc\nd\ne\nf");
  expect(await describeChange("/x", before, bytes("a\nb\nc\nd\nE\nf\n"))).toBe(
    "--- /x\n+++ /x\n@@ -2,5 +2,5 @@\n b\n c\n d\n-e\n-f\n\\ No newline at end of file\n+E\n+f\n",
  );
});

test("a new file is all new lines", async () => {
  expect(await describeChange("/x", undefined, bytes("a"))).toBe(
    "--- /dev/null\n+++ /x\n@@ -0,0 +1 @@\n+a\n\\ No newline at end of file\n",
  );
  expect(await describeChange("/x", undefined, bytes(""))).toBe("");
});

test("a diff is bounded, and so is the time it takes", async () => {
  const long = await describeChange("/x", undefined, bytes(lines(50_000, "line ")));
  expect(long.length).toBeLessThan(65 * 1024);
  expect(long).toMatch(/\[\d+ more lines\]\n$/);
  expect(await describeChange("/x", bytes(lines(20_000, "a")), bytes(lines(20_000, "b")))).toStartWith(
    "more than 1500 lines differ, not shown line by line: ",
  );
});

test("for binary or large content only the size is reported", async () => {
  const expected = "not shown line by line: 2 bytes before, 1 bytes after";
  expect(await describeChange("/x", new Uint8Array([65, 0]), bytes("a"))).toBe(expected);
  expect(await describeChange("/x", new Uint8Array([0xff, 65]), bytes("a"))).toBe(expected);
  const large = new Uint8Array(1024 * 1024 + 1).fill(65);
  expect(await describeChange("/x", bytes("ab"), large)).toContain("1048577 bytes after");
});
