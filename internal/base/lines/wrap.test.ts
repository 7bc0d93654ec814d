import { expect, test } from "bun:test";
import { firstLine, wrapText } from "./wrap.ts";

test.each([
  ["", 30, [""]],
  ["one two", 30, ["one two"]],
  ["12345678901234567890 345 7890", 24, ["12345678901234567890 345", "7890"]],
  ["a 12345678901234567890123456789012 b", 24, ["a", "12345678901234567890123456789012", "b"]],
  ["123456789012345678 0123 5", 3, ["123456789012345678 0123", "5"]],
])("%j in %d cells", (text, width, lines) => expect(wrapText(text, width)).toEqual(lines));

test.each([
  ["Show a peel.", 40, "Show a peel."],
  ["Show a peel. The rest is for the page of the command.", 40, "Show a peel."],
  [
    "Show what happened, oldest first: events of peels, jobs and rollouts.",
    40,
    "Show what happened, oldest first.",
  ],
  ["Show peels; list: of one, all that is known here.", 45, "Show peels; list."],
  [
    "Show what happened to all of the peels of a fleet.",
    30,
    "Show what happened to all of the peels of a fleet.",
  ],
  ["Manage e.g. peels.", 40, "Manage e.g. peels."],
])("%j is listed in %d cells", (text, width, line) => expect(firstLine(text, width)).toBe(line));
