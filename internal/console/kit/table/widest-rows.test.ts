import { expect, test } from "bun:test";
import { h } from "preact";
import type { Column } from "./column.ts";
import { widestRows } from "./widest-rows.ts";

interface Row {
  name: string;
  text: string;
}
const Word = ({ word }: { word: string }) => h("b", {}, word);
const columns: readonly Column<Row>[] = [
  { id: "name", title: "Name", show: ({ name }) => name },
  {
    id: "text",
    title: "Text",
    show: ({ text }) => h("span", {}, text, " ", h("i", {}, 1)),
  },
  { id: "word", title: "Word", show: ({ text }) => h(Word, { word: text }), by: ({ text }) => text },
  { id: "none", title: "None", show: ({ text }) => h(Word, { word: text }) },
];

test("for each column the row with the longest text is found, also where elements have it", () => {
  const rows = [
    { name: "a", text: "long text" },
    { name: "much longer", text: "x" },
    { name: "b", text: "y" },
  ];
  const known = new WeakMap<Row, readonly number[]>();
  expect(widestRows(rows, columns, known)).toEqual({
    rows: [rows[1], rows[0]] as Row[],
    lengths: [11, 11, 9, 0],
  });
  expect(widestRows(rows.slice(2), columns, known)).toEqual({
    rows: rows.slice(2),
    lengths: [1, 3, 1, 0],
  });
  expect(widestRows([], columns, known)).toEqual({ rows: [], lengths: [0, 0, 0, 0] });
});

test("of many rows some are looked at, and each once", () => {
  let shown = 0;
  const counted: readonly Column<Row>[] = [
    {
      id: "name",
      title: "Name",
      show({ name }) {
        shown++;
        return name;
      },
    },
  ];
  const rows = Array.from({ length: 10_000 }, (_, at) => ({ name: `${at}`, text: "" }));
  const known = new WeakMap<Row, readonly number[]>();
  expect(widestRows(rows, counted, known).lengths).toEqual([4]);
  widestRows([...rows], counted, known);
  expect(shown).toBe(500);
});
