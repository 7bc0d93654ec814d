import { expect, test } from "bun:test";
import { beginningOf, cutCounted, endOf, linesLeftOut, quote } from "../../base/cut.ts";
import { captureEnds } from "../../base/process/capture.ts";
import { encodingsOf } from "./encodings.ts";
import { createMask, masked } from "./mask.ts";
import { maskReturn } from "./mask-run.ts";

const secret = "hunter2/of+the=database";
const mask = createMask({ strong: [secret], weak: [] });

/** Nothing of a secret with four characters or more. */
function expectNoPiece(text: string, form: string) {
  for (let at = 0; at + 4 <= form.length; at++) {
    const piece = form.slice(at, at + 4);
    if (text.includes(piece)) throw new Error(`${JSON.stringify(text)} has ${piece}`);
  }
}

test("where output is cut, at each byte, neither half of a secret is left", () => {
  for (const form of encodingsOf(secret)) {
    const all = Buffer.from(`${"<".repeat(40)}${form}${">".repeat(40)}`);
    for (let kept = 2; kept <= all.length; kept += 2) {
      const capture = captureEnds(kept);
      capture.add(all);
      expectNoPiece(mask.text(capture.text().text), form);
    }
  }
});

test.each([
  ["its end", beginningOf],
  ["its beginning", (text: string, max: number) => `said: ${endOf(text, max)}`],
  ["its end, counted", cutCounted],
  ["its last lines", (text: string, max: number) => text.slice(0, max) + linesLeftOut(3)],
])("a text without %s has no half of a secret", (_, cut) => {
  for (const form of encodingsOf(secret)) {
    for (let max = 2; max <= form.length + 8; max++)
      expectNoPiece(mask.text(cut(`<<${form}>> and more`, max)), form);
  }
});

test("a text in quotes has no half of a secret", () => {
  const quoted = 'hunter2 of "the" \\database';
  const shown = createMask({ strong: [quoted], weak: [] });
  for (let max = 2; max <= quoted.length + 8; max++)
    expectNoPiece(shown.text(quote(`<<${quoted}>> and more`, max)), quoted);
});

test("three characters, and the beginning of a secret where nothing was cut, stay", () => {
  expect(mask.text("it is hun…")).toBe("it is hun…");
  expect(mask.text("it is hunt…")).toBe(`it is ${masked}…`);
  expect(mask.text("it is hunter")).toBe("it is hunter");
  expect(mask.text("[cut: hunter] hunter\n[x more lines]\n")).toBe("[cut: hunter] hunter\n[x more lines]\n");
  // What was sent says nothing.
  expect(mask.except(["it is hunter…"]).text("it is hunter…")).toBe("it is hunter…");
});

test.each([false, true])(
  "a part of a file has no half of a secret, wherever it begins and ends; base64: %p",
  (base64) => {
    const file = `password = ${secret}\n`;
    const begin = file.indexOf(secret);
    for (let offset = 0; offset < file.length; offset++) {
      for (let end = offset + 1; end <= file.length; end++) {
        const part = file.slice(offset, end);
        const content = base64 ? btoa(part) : part;
        const value = { content, size: file.length, ...(end < file.length ? { next_offset: end } : {}) };
        const result = { success: true, retcode: 0, started_at: "", duration_ms: 1, return: value };
        const { return: sent } = maskReturn(
          mask,
          { function: "file.read", args: { offset, base64 } },
          result,
        );
        const shown = (sent as { content: string }).content;
        // A part that begins and ends inside of it does not begin and does not end it.
        if (offset > begin && end < begin + secret.length) continue;
        expectNoPiece(base64 ? leftOf(shown) : shown, secret);
      }
    }
  },
);

/** The bytes on both sides of what was masked in base64. */
function leftOf(shown: string): string {
  const [before = "", ...more] = shown.split(masked);
  const behind = more.at(-1) ?? "";
  const whole = [before.slice(0, before.length - (before.length % 4)), behind.slice(behind.length % 4)];
  return whole.map((part) => Buffer.from(part, "base64").toString("latin1")).join(" ");
}
