import { expect, test } from "bun:test";
import * as fc from "fast-check";
import { createMask, masked } from "./mask.ts";

const secrets = ["hunter2/of+the=database", "0123456789", "k".repeat(70) + "?>~".repeat(20)];
const mask = createMask({ strong: secrets, weak: [] });
const withoutMask = (text: string) => text.split(masked);

/** What a program of this host makes of bytes. */
function written(argv: string[], bytes: Uint8Array): string {
  const { stdout, exitCode } = Bun.spawnSync(argv, { stdin: bytes });
  expect(exitCode).toBe(0);
  return stdout.toString();
}

test.each([
  ["base64", ["base64"]],
  ["base64 -w 64", ["base64", "-w", "64"]],
  ["openssl base64", ["openssl", "base64"]],
])("what %s wraps shows no secret, wherever it begins", (_, argv) => {
  for (const secret of secrets) {
    for (let before = 0; before < 60; before++) {
      const text = written(argv, Buffer.from(`${"x".repeat(before)}${secret}${"y".repeat(90)}\n`));
      const forms = [
        text,
        text.replaceAll("\n", "\r\n"),
        `data: |\n${text.replace(/^/gm, "  ")}`,
        text.trimEnd().replace(/^/gm, "+"),
      ];
      for (const form of forms) {
        const shown = mask.text(form);
        expect(withoutMask(shown)).toHaveLength(2);
        // Of the bytes on both sides, at most two more are gone than the secret has.
        const left = Buffer.from(
          shown.replaceAll(masked, "").replace(/^data: \||[^A-Za-z0-9]/g, ""),
          "base64",
        );
        expect(left.length).toBeLessThanOrEqual(before + 91 + 3);
      }
    }
  }
});

test("lines of other texts are left as they are", () => {
  const line = `${"word".repeat(20)}\n`;
  for (const text of [line.repeat(3), "a\nb\n", "\n\r\n", `${line}\r`, `+${line}+${line}`])
    expect(mask.text(text)).toBe(text);
});

test("a stream in any parts shows of wrapped base64 what the whole text shows", () => {
  const bytes = fc.array(
    fc.oneof(fc.constantFrom(...secrets, "xx", "y".repeat(50)), fc.string({ maxLength: 60 })),
    { maxLength: 8 },
  );
  const forms = fc.constantFrom("\n", "\r\n", "\n  ", "\n+", "\n\n");
  const sizes = fc.array(fc.integer({ min: 1, max: 90 }), { minLength: 1, maxLength: 6 });
  fc.assert(
    fc.property(bytes, forms, fc.constantFrom(64, 76), sizes, (texts, end, width, steps) => {
      const coded = Buffer.from(texts.join("")).toString("base64");
      const text = `log\n${end.trim()}${(coded.match(new RegExp(`.{1,${width}}`, "g")) ?? []).join(end)}\nrest\n`;
      const stream = mask.stream();
      let shown = "";
      for (let at = 0, turn = 0; at < text.length; turn++) {
        const size = steps[turn % steps.length] ?? 1;
        shown += stream.add(text.slice(at, at + size));
        at += size;
      }
      shown += stream.end();
      expect(shown.replaceAll(masked, "")).toBe(mask.text(text).replaceAll(masked, ""));
    }),
    { numRuns: 500 },
  );
});
