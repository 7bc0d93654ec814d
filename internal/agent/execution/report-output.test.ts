import { expect, test } from "bun:test";
import fc from "fast-check";
import { manualClock } from "../../../test/harness/clock.ts";
import { readOutput, readProgress } from "../../wire/progress.ts";
import { reportOutput } from "./report-output.ts";

/** A report, and what followers read of it. */
function start() {
  const clock = manualClock();
  const sizes: number[] = [];
  const published: { output: string; skipped: number }[] = [];
  const publish = (subject: string, data: Uint8Array) => {
    sizes.push(data.length);
    // Who follows the progress ignores it.
    expect(readProgress(subject, data)).toBeUndefined();
    const { output, skipped } = readOutput(subject, data) ?? { output: "unreadable", skipped: -1 };
    published.push({ output, skipped });
  };
  const report = reportOutput({ connection: { publish }, jid: "job-1", peelId: "web", clock });
  return { clock, sizes, published, report, add: (text: string) => report.add(Buffer.from(text)) };
}

test("what is written is published twice a second, and the rest at the end", () => {
  const { clock, published, report, add } = start();
  add("one\n");
  expect(published).toEqual([]);
  clock.advance(500);
  add("two ");
  add("three\n");
  clock.advance(2_000);
  add("four");
  report.stop();
  expect(published.map(({ output }) => output)).toEqual(["one\n", "two three\n", "four"]);
  expect(clock.pending).toBe(0);
});

test("a command that writes nothing has nothing published", () => {
  const { clock, published, report } = start();
  clock.advance(5_000);
  report.stop();
  expect([published, clock.pending]).toEqual([[], 0]);
});

test("of much output the newest part is sent, with how much was left out", () => {
  const { clock, published, report, add } = start();
  for (let line = 0; line < 10_000; line++) add(`line ${line}\n`);
  clock.advance(500);
  report.stop();
  expect(published).toHaveLength(1);
  expect(published[0]?.output).toEndWith("line 9998\nline 9999\n");
  expect((published[0]?.skipped ?? 0) + (published[0]?.output.length ?? 0)).toBe(98_890);
});

test("a character that is cut by a read is whole", () => {
  const { clock, published, report } = start();
  const bytes = Buffer.from("a€b");
  report.add(bytes.subarray(0, 2));
  clock.advance(500);
  report.add(bytes.subarray(2));
  clock.advance(500);
  expect(published.map(({ output }) => output).join("")).toBe("a€b");
});

test("whatever is written, each report can be read", () => {
  const chunk = fc.uint8Array({ maxLength: 4_000 });
  fc.assert(
    fc.property(fc.array(fc.tuple(chunk, fc.boolean()), { maxLength: 8 }), (chunks) => {
      const { clock, sizes, published, report } = start();
      for (const [bytes, waits] of chunks) {
        report.add(bytes);
        if (waits) clock.advance(500);
      }
      report.stop();
      expect(Math.max(0, ...sizes)).toBeLessThanOrEqual(4_096);
      expect(published.every(({ skipped }) => skipped >= 0)).toBe(true);
    }),
  );
});
