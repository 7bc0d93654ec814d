import { expect, test } from "bun:test";
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
  ["characters", (text: string, at: number) => `${text.slice(0, at)}\n[cut: ${at} of 400 characters]`],
  ["lines", (text: string, at: number) => `${text.slice(0, at)}[3 more lines]\n`],
  ["the end", (text: string, at: number) => `${text.slice(0, at)}…`],
  ["the beginning", (text: string, at: number) => `said: …${text.slice(at)}`],
])("a text without %s has no half of a secret", (_, cut) => {
  for (const form of encodingsOf(secret)) {
    for (let at = 0; at <= form.length + 4; at++) expectNoPiece(mask.text(cut(`<<${form}>>`, at)), form);
  }
});

test("three characters, and the beginning of a secret where nothing was cut, stay", () => {
  expect(mask.text("it is hun…")).toBe("it is hun…");
  expect(mask.text("it is hunt…")).toBe(`it is ${masked}…`);
  expect(mask.text("it is hunter")).toBe("it is hunter");
  expect(mask.text("[cut: hunter] hunter\n[x more lines]\n")).toBe("[cut: hunter] hunter\n[x more lines]\n");
  // What was sent says nothing.
  expect(mask.except(["it is hunter…"]).text("it is hunter…")).toBe("it is hunter…");
});

test("a part of a file has no half of a secret, wherever it begins and ends", () => {
  const file = `password = ${secret}\n`;
  for (let offset = 0; offset < file.length; offset++) {
    for (let end = offset + 1; end <= file.length; end++) {
      const content = file.slice(offset, end);
      const value = { content, size: file.length, ...(end < file.length ? { next_offset: end } : {}) };
      const result = { success: true, retcode: 0, started_at: "", duration_ms: 1, return: value };
      const { return: shown } = maskReturn(mask, { function: "file.read", args: { offset } }, result);
      const isInside = offset > file.indexOf(secret) && end < file.indexOf(secret) + secret.length;
      // A part that begins and ends inside of it does not begin and does not end it.
      if (!isInside) expectNoPiece((shown as { content: string }).content, secret);
    }
  }
});
