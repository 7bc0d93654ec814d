import { expect, test } from "bun:test";
import { parse } from "csv-parse/sync";
import fc from "fast-check";
import { formatCsv, rowsOf } from "./csv.ts";
import { formatResult } from "./print.ts";

test.each([
  ["a text as it is", "web-1", "web-1"],
  ["a comma", "a,b", '"a,b"'],
  ["a quote", 'a"b', '"a""b"'],
  ["a line end", "a\nb", "a\\u000ab"],
  ["what acts on a terminal", "\u001b[2J", "\\u001b[2J"],
  ["nothing", undefined, ""],
  ["null", null, ""],
  ["a number below zero", -5, "-5"],
  ["a truth value", false, "false"],
  ["a map", { env: "prod" }, '"{""env"":""prod""}"'],
  ["a digest", new Uint8Array([1, 0xab]), "01ab"],
  ["a map with a digest", { files: new Uint8Array([1, 0xab]) }, '"{""files"":""01ab""}"'],
  ["a formula", "=1+1", "'=1+1"],
  ["a formula in quotes", '=HYPERLINK("http://x","y")', `"'=HYPERLINK(""http://x"",""y"")"`],
  ["a formula with a plus", "+1", "'+1"],
  ["a formula with a minus", "-1", "'-1"],
  ["a formula with an at", "@SUM(A1)", "'@SUM(A1)"],
])("a cell with %s", (_, value, written) => {
  expect(formatCsv({ header: ["a", "b"], rows: [[value, "x"]] })).toBe(`a,b\n${written},x\n`);
});

test("what is written is read back, one record a line", () => {
  const text = fc.string({ unit: "binary" });
  fc.assert(
    fc.property(fc.array(fc.tuple(text, text), { maxLength: 5 }), (rows) => {
      const csv = formatCsv({ header: ["one", "two"], rows });
      expect(csv.split("\n")).toHaveLength(rows.length + 2);
      const read: string[][] = parse(csv);
      expect(read.map((row) => row.length)).toEqual([2, ...rows.map(() => 2)]);
      for (const cell of read.flat()) expect(cell).not.toMatch(/^[=+\-@\t\r]/);
    }),
  );
});

test("any list has its fields as columns, in the order of their first appearance", async () => {
  const data = [{ id: "a", up: true }, { id: "b", tags: ["x"] }, "c"];
  expect(rowsOf(data).header).toEqual(["id", "up", "tags", "value"]);
  expect(await formatResult("csv", data, () => "")).toBe('id,up,tags,value\na,true,,\nb,,"[""x""]",\n,,,c\n');
  expect(await formatResult("csv", [], () => "")).toBe("");
  expect(await formatResult("csv", { id: "a" }, () => "")).toBe("id\na\n");
});
