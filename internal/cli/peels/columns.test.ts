import { expect, test } from "bun:test";
import type { ShownPeel } from "../../fleet/peels/mod.ts";
import { formatAge } from "./age.ts";
import { columns, readColumn, rowOf, sortPeels, usualColumns } from "./columns.ts";

const peel = (id: string, more: Partial<ShownPeel> = {}): ShownPeel => ({
  ...{ id, peel_id: id, enrollment_id: `enr-${id}`, state: "active", alive: false, labels: {} },
  ...more,
});
const day = 24 * 3_600_000;
const now = Date.parse("2026-01-10T00:00:00.000Z");

test.each([
  [-5, "0s"],
  [999, "0s"],
  [59_999, "59s"],
  [60_000, "1m"],
  [3_600_000, "1h"],
  [day - 1, "23h"],
  [400 * day, "400d"],
])("an age of %d ms is %s", (ms, text) => expect(formatAge(ms)).toBe(text));

test("an unknown column is refused with the nearest one", () => {
  expect(columns.map(readColumn)).toEqual(columns);
  expect(() => readColumn("verson")).toThrow(
    'unknown column "verson" (did you mean version?); there are id,',
  );
});

test("a row has what is known, and dashes", () => {
  expect(rowOf(peel("web-1"), usualColumns, now)).toEqual(["web-1", "silent", "-", "-", "-", "-"]);
  const known = peel("web-1", {
    ...{ alive: true, alive_since: "2026-01-09T00:00:00.000Z", version: "1.0", os: "Debian 12" },
    labels: { env: "prod", rack: "7" },
  });
  expect(rowOf(known, usualColumns, now)).toEqual([
    ...["web-1", "alive", "1d", "1.0", "Debian 12", "env=prod rack=7"],
  ]);
});

test("peels are sorted by a column, numbers by their value, and what is not known comes last", () => {
  const peels = [peel("a", { version: "1.10" }), peel("b"), peel("c", { version: "1.9" })];
  expect(sortPeels(peels, "version").map(({ id }) => id)).toEqual(["c", "a", "b"]);
  expect(sortPeels([peel("web-10"), peel("web-9")], "id").map(({ id }) => id)).toEqual(["web-9", "web-10"]);
});
