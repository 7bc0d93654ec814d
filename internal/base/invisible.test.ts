import { expect, test } from "bun:test";
import { escapeInvisible, escapeInvisibleInLines } from "./invisible.ts";

test.each([
  ["an escape", "\u001b", "\\u001b"],
  ["a C1 control", "\u009b", "\\u009b"],
  ["a direction override", "\u202e", "\\u202e"],
  ["a direction isolate", "\u2066", "\\u2066"],
  ["an Arabic letter mark", "\u061c", "\\u061c"],
  ["a space without width", "\u200b", "\\u200b"],
  ["a joiner", "\u200d", "\\u200d"],
  ["a line separator", "\u2028", "\\u2028"],
  ["a paragraph separator", "\u2029", "\\u2029"],
  ["a byte order mark", "\ufeff", "\\ufeff"],
  ["a soft hyphen", "\u00ad", "\\u00ad"],
  ["a Hangul filler", "\u3164", "\\u3164"],
  ["a variation selector", "\ufe0f", "\\ufe0f"],
  ["a tag character", "\u{e0041}", "\\udb40\\udc41"],
  ["half of a pair", "\ud800", "\\ud800"],
])("%s is spelled out, and is the same text again when read as JSON", (_, character, escaped) => {
  expect(escapeInvisible(`a${character}b`)).toBe(`a${escaped}b`);
  expect(JSON.parse(`"${escaped}"`)).toBe(character);
});

test("text that is seen stays, in every script", () => {
  const text = 'Ärger 東京 שלום مرحبا नमस्ते 한국어 🎉 "quoted" \\u0041';
  expect(escapeInvisible(text)).toBe(text);
});

test("line ends may stay", () => {
  expect(escapeInvisible("a\nb")).toBe("a\\u000ab");
  expect(escapeInvisibleInLines("a\nb\r\u202ec")).toBe("a\nb\\u000d\\u202ec");
});
