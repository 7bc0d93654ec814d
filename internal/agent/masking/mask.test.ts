import { describe, expect, test } from "bun:test";
import * as fc from "fast-check";
import { encodingsOf } from "./encodings.ts";
import { createMask, masked, noMask } from "./mask.ts";
import { createSearch } from "./search.ts";

const secret = "pa/ss wörd\"<7>&'x";
const mask = createMask({ strong: [secret, "0123456789"], weak: ["hunter2", "db"] });

describe("each occurrence becomes ********, in the form of", () => {
  test.each([
    ["itself", secret],
    ["a URL, as JavaScript writes it", encodeURIComponent(secret)],
    ["a URL in lower case", encodeURIComponent(secret).replace(/%../g, (one) => one.toLowerCase())],
    ["a form", new URLSearchParams({ a: secret }).toString().slice(2)],
    ["a path", encodeURIComponent(secret).replaceAll("%2F", "/")],
    ["JSON", JSON.stringify(secret).slice(1, -1)],
    ["JSON of ASCII", JSON.stringify(secret).slice(1, -1).replace("ö", "\\u00f6")],
    [
      "JSON for HTML",
      JSON.stringify(secret)
        .slice(1, -1)
        .replace("<", "\\u003c")
        .replace(">", "\\u003e")
        .replace("&", "\\u0026"),
    ],
    ["JSON with escaped slashes", JSON.stringify(secret).slice(1, -1).replace("/", "\\/")],
    ["JSON inside of JSON", JSON.stringify(JSON.stringify(secret)).slice(3, -3)],
  ])("%s", (_, form) => {
    expect(mask.text(`before ${form} and ${form}.`)).toBe(`before ${masked} and ${masked}.`);
    // One character less is another text.
    expect(mask.text(`before ${form.slice(1)}`)).toBe(`before ${form.slice(1)}`);
  });

  test.each([0, 1, 2, 3, 4, 5])("base64, with %d bytes before it", (before) => {
    for (const encoding of ["base64", "base64url"] as const) {
      const text = Buffer.from(`${"x".repeat(before)}${secret}yyyy`).toString(encoding);
      const shown = mask.text(text);
      expect(shown).toContain(masked);
      // What is left at both ends holds no whole byte of it.
      expect(shown.length - masked.length).toBeLessThanOrEqual(Math.ceil(((before + 4) * 4) / 3) + 4);
    }
  });
});

test("numbers, bytes and the names in maps are masked too, and what holds nothing stays the same", () => {
  const bytes = Buffer.from(`key=${secret}`);
  expect(
    mask.plain({
      [`a ${secret}`]: [1, 123456789, 123456789.5],
      n: 123456789,
      b: Uint8Array.from(bytes),
      t: true,
      z: null,
    }),
  ).toEqual({
    [`a ${masked}`]: [1, 123456789, 123456789.5],
    ...{ n: 123456789, b: Uint8Array.from(Buffer.from(`key=${masked}`)), t: true, z: null },
  });
  const strong = createMask({ strong: ["1234567890"], weak: ["42"] });
  expect(strong.plain([1234567890, 12345678901, 42, 420])).toEqual([masked, masked, masked, 420]);
  expect(mask.plain(Uint8Array.of(0xff, 0xfe, ...Buffer.from("0123456789")))).toEqual(
    Uint8Array.of(0xff, 0xfe, ...Buffer.from(masked)),
  );
  expect(mask.plain({ "0123456789a": 1, "0123456789": 2 })).toEqual({ [`${masked}a`]: 1, [masked]: 2 });
  expect(
    createMask({ strong: ["aaaaaaaaaaaa", "bbbbbbbbbbbb"], weak: [] }).plain({
      aaaaaaaaaaaa: 1,
      bbbbbbbbbbbb: 2,
    }),
  ).toEqual({ [masked]: 1, [`${masked} (2)`]: 2 });
});

test("a weak value is masked where it is the whole text, and nowhere else", () => {
  expect(mask.plain(["hunter2", "hunter2\n", "hunter22", "the db", "db"])).toEqual([
    ...[masked, masked, "hunter22", "the db", masked],
  ]);
});

test("what the caller sent comes back unchanged, so that no guess is confirmed", () => {
  const own = mask.except({ text: `guess ${secret}`, more: ["hunter2"] });
  expect(own.text(secret)).toBe(secret);
  expect(own.text(`guess ${secret}`)).toBe(`guess ${secret}`);
  expect(own.text("hunter2")).toBe("hunter2");
  // Another secret, and another form of the same one, were not sent.
  expect(own.text(`0123456789 ${Buffer.from(secret).toString("base64")}`)).toBe(
    `${masked} ${mask.text(Buffer.from(secret).toString("base64"))}`,
  );
  expect(mask.except({ text: "nothing" }).text(secret)).toBe(masked);
  expect(mask.except({ number: 123456789 }).text("0123456789")).toBe(masked);
});

test("occurrences that overlap are one", () => {
  const both = createMask({ strong: ["aaaaabbbbb", "bbbbbccccc", "bbbbbccccc-and-more"], weak: [] });
  expect(both.text("xaaaaabbbbbcccccx")).toBe(`x${masked}x`);
  expect(both.text("bbbbbccccc-and-more")).toBe(masked);
  expect(both.text("aaaaabbbbbaaaaabbbbb")).toBe(masked + masked);
});

test("a stream in any parts shows what the whole text shows, and holds back no more than a beginning", () => {
  const parts = fc.array(
    fc.oneof(fc.constantFrom(secret, secret.slice(0, 9), secret.slice(5), "0123456789", "\n"), fc.string()),
    { maxLength: 12 },
  );
  fc.assert(
    fc.property(parts, fc.array(fc.nat({ max: 20 }), { minLength: 1 }), (texts, sizes) => {
      const text = texts.join("");
      const stream = mask.stream();
      let shown = "";
      for (let at = 0, turn = 0; at < text.length; turn++) {
        const size = 1 + (sizes[turn % sizes.length] ?? 0);
        shown += stream.add(text.slice(at, at + size));
        at += size;
      }
      shown += stream.end();
      expect(shown).not.toContain(secret);
      expect(shown).not.toContain("0123456789");
      expect(shown.replaceAll(masked, "")).toBe(partsOf(text).replaceAll(masked, ""));
    }),
  );
  const stream = mask.stream();
  expect(stream.add("progress: 10 %")).toBe("progress: 10 %");
  const rest = [stream.add(`\n${secret.slice(0, 6)}`), stream.add(secret.slice(6)), stream.end()];
  expect(rest.join("")).toBe(`\n${masked}`);
  expect(rest[0]).toBe("\n");
});

/** Without the weak values. */
const partsOf = (text: string) => mask.text(`${text}\u0000`).slice(0, -1);

test("the search finds what a search one after another finds", () => {
  const letters = fc.string({ unit: fc.constantFrom("a", "b", "ö"), minLength: 10, maxLength: 14 });
  const texts = fc.string({ unit: fc.constantFrom("a", "b", "ö"), maxLength: 60 });
  fc.assert(
    fc.property(fc.uniqueArray(letters, { maxLength: 6 }), texts, (patterns, text) => {
      const slow = patterns.flatMap((pattern) =>
        [...text].flatMap((_, from) =>
          text.startsWith(pattern, from) ? [{ from, to: from + pattern.length }] : [],
        ),
      );
      const byPlace = (spans: { from: number; to: number }[]) =>
        spans.map(({ from, to }) => `${from}-${to}`).sort();
      expect(byPlace(createSearch(patterns).find(text))).toEqual(byPlace(slow));
    }),
  );
});

test("no form is shorter than what is searched", () => {
  for (const text of ["0123456789", "          ", "ö".repeat(10), "\ud800aaaaaaaaa"]) {
    for (const form of encodingsOf(text)) expect(form.length).toBeGreaterThanOrEqual(10);
  }
});

test("without secrets nothing is looked at", () => {
  expect(createMask({ strong: [], weak: [] })).toBe(noMask);
  expect(noMask.plain({ a: [secret] })).toEqual({ a: [secret] });
});
