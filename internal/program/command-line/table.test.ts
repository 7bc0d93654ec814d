import { expect, test } from "bun:test";
import fc from "fast-check";
import { cutTo, wrapTo } from "./cells.ts";
import { type Columns, formatTable } from "./table.ts";

const clock = { now: () => Date.parse("2026-01-10T00:00:00.000Z") };
const columns: Columns = {
  ID: "id",
  HOST: "text",
  STATE: "state",
  CREATED: "ago",
  EXPIRES: "until",
  KEY: "wide",
  WHY: "prose",
};
const id = `enr-3MRxAb12Cd${"0".repeat(17)}`;
const why = "the host showed another key than the one that it had before";
const row = [
  ...[id, "web-1.rack-7.example.com", "failed (late)"],
  ...["2026-01-08T00:00:00.000Z", "2026-01-17T00:00:00.000Z", "UABC", why],
];

test("columns are aligned by what is seen, below a header in capitals", () => {
  const rows = [
    ["web-1", "ok"],
    ["日本", "MISMATCH!"],
  ];
  expect(formatTable(["ID", "TRUST"], rows, { color: false })).toBe(
    "ID     TRUST\nweb-1  ok\n日本   MISMATCH!",
  );
});

test("a table shows ages and short ids, and fits into the terminal", () => {
  expect(formatTable(columns, [row], { color: false, clock, width: 80 }).split("\n")).toEqual([
    "ID            HOST             STATE          CREATED  EXPIRES  WHY",
    "enr-3MRxAb12  web-1.rack-7.e…  failed (late)  2d       in 7d    the host showed",
    "                                                                another key",
    "                                                                than the one",
    "                                                                that it had",
    "                                                                before",
  ]);
});

test.each([
  [65, "JID           FUNCTION                     TARGET  PEELS  OK  BY"],
  [61, "JID           FUNCTION                     TARGET  PEELS  BY"],
  [54, "JID           FUNCTION                     TARGET  BY"],
  [44, "JID           FUNCTION           TARGET  BY"],
])("in %d columns texts are cut first, then what can be spared goes, then names are cut", (width, head) => {
  const jobs: Columns = {
    ...({ JID: "id", FUNCTION: "name", TARGET: "text" } as const),
    ...({ PEELS: "spare word", OK: "spare word", BY: "text" } as const),
  };
  const cells = [[id, "postgres_privileges.present", "G@os:Debian", "12", "9", "ann"]];
  expect(formatTable(jobs, cells, { color: false, width }).split("\n")[0]).toBe(head);
});

test("with --wide it has every column, and everything in full on one line", () => {
  expect(formatTable(columns, [row], { color: false, clock, width: 70, wide: true }).split("\n")).toEqual([
    expect.stringMatching(/^ID {31}HOST .* KEY {3}WHY$/),
    row.join("  "),
  ]);
});

test("where nothing limits a line, nothing is cut", () => {
  const shown = formatTable(columns, [row], { color: false, clock });
  expect(shown.split("\n")[1]).toBe(`enr-3MRxAb12  ${row[1]}  failed (late)  2d       in 7d    ${why}`);
});

test("words of states are colored on a terminal, and nothing else is", () => {
  const rows = [["failed", "10 ok, 1 failed"]];
  const shown = formatTable({ NAME: "text", OUTCOME: "states" }, rows, { color: true });
  expect(shown).toBe(
    "\u001b[1mNAME    OUTCOME\u001b[0m\nfailed  10 \u001b[32mok\u001b[0m, 1 \u001b[31mfailed\u001b[0m",
  );
});

const anyText = fc.oneof(
  fc.string({ unit: "grapheme", maxLength: 60 }),
  fc.string({ unit: "binary", maxLength: 60 }),
  fc.constantFrom("\u001b[2J", "日本語".repeat(20), "👩‍👩‍👧‍👦".repeat(9), "x".repeat(300), "a b ".repeat(80)),
);

test("no text makes a line wider than the terminal, or acts on it", () => {
  const texts = { A: "text", B: "prose", C: "word" } as const;
  fc.assert(
    fc.property(fc.array(fc.tuple(anyText, anyText)), fc.integer({ min: 40, max: 120 }), (made, width) => {
      const rows = made.map(([a, b]) => [a, b, "fixed"]);
      for (const line of formatTable(texts, rows, { color: false, width }).split("\n")) {
        expect(Bun.stringWidth(line)).toBeLessThanOrEqual(width);
        expect(line).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u);
      }
    }),
  );
});

test("a heading that is a word of the palette is bold like the others, and not colored", () => {
  const shown = formatTable({ ALIVE: "state", DONE: "state" }, [["alive", "x"]], { color: true });
  expect(shown).toBe("\u001b[1mALIVE  DONE\u001b[0m\n\u001b[32malive\u001b[0m  x");
});

test("a text that is broken over lines loses nothing but spaces", () => {
  fc.assert(
    fc.property(anyText, fc.integer({ min: 2, max: 40 }), (text, width) => {
      const lines = wrapTo(text, width, 1_000);
      expect(lines.join("").replace(/\s/g, "")).toBe(text.replace(/\s/g, ""));
    }),
  );
});

test("a text has no more lines than it may", () => {
  expect(wrapTo("one two three four five", 5, 3)).toEqual(["one", "two", "thre…"]);
});

test.each([
  ["abcdef", 6, "abcdef"],
  ["abcdefg", 6, "abcde…"],
  ["日本語", 5, "日本…"],
  ["日本語", 4, "日…"],
  ["ab", 1, "…"],
])("%s in %d cells is %s", (text, width, shown) => expect(cutTo(text, width)).toBe(shown));
