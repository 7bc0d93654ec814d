import { expect, test } from "bun:test";
import { suggestion, suggestName } from "./nearest.ts";

test.each([
  ["web-1", ["db-1.example.com", "web-1.example.com"], " (did you mean web-1.example.com?)"],
  ["web-1.example.con", ["web-1.example.com"], " (did you mean web-1.example.com?)"],
  ["wbe-1", ["db-1.example.com", "web-1.example.com"], " (did you mean web-1.example.com?)"],
  ["wbe-1", ["db-1", "web-1.example.com"], " (did you mean web-1.example.com?)"],
  ["wbe-1.lan", ["web-1.example.com"], ""],
  ["web", ["web-1.example.com"], ""],
  ["web-1", [], ""],
])("a host %s among %j%s", (word, known, expected) => {
  expect(suggestName(word, known)).toBe(expected);
});

test.each([
  ["xml", ["table", "json", "jsonl", "yaml", "csv"], ""],
  ["ls", ["list", "show"], " (did you mean list?)"],
  ["jsom", ["table", "json", "jsonl"], " (did you mean json?)"],
])("a short word %s among %j%s", (word, known, expected) => {
  expect(suggestion(word, known)).toBe(expected);
});

test("other words are not completed at a dot", () => {
  expect(suggestion("web-1", ["web-1.example.com"])).toBe("");
});
