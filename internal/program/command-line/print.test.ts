import { expect, test } from "bun:test";
import { load } from "js-yaml";
import { formatResult, outputFormats } from "./print.ts";
import { formatTable } from "./table.ts";

const acting = ["\u202e", "\u2066", "\u200b", "\u2028", "\u001b[2J", "\u009b", "\ufeff", "\u{e0041}"];
const data = acting.map((text) => ({ hostname: `web${text}1`, [`key${text}`]: [text] }));

test.each([...outputFormats])("%s output never contains a character that is not seen", async (format) => {
  // Also where a command forgot to make its text visible.
  const shown = await formatResult(format, data, () => acting.join("\n"));
  for (const text of acting) expect(shown).not.toContain(text);
  expect(shown).toContain("\\u202e");
});

test("JSON and YAML stay valid and mean the same", async () => {
  expect(JSON.parse(await formatResult("json", data, String))).toEqual(data);
  expect(load(await formatResult("yaml", data, String))).toEqual(data);
});

test("a table keeps its layout, its colors and its tabs", async () => {
  const columns = { ID: "word", STATE: "state" } as const;
  const table = formatTable(columns, [["a\u202eb", "ok"]], { color: true });
  expect(await formatResult("table", [], () => `${table}\n\tx`)).toBe(
    "\u001b[1mID        STATE\u001b[0m\na\\u202eb  \u001b[32mok\u001b[0m\n\tx\n",
  );
});
