import { expect, test } from "bun:test";
import fc from "fast-check";
import { diffLines } from "./diff-lines.ts";
import { createKeys } from "./keys.ts";
import { outcomeOf } from "./outcome.ts";
import { placeOf } from "./router.ts";
import { slotOf, visibleRows } from "./table/visible-rows.ts";
import { brief, relative, took } from "./times.ts";

test("rows in sight are elements, and few others", () => {
  fc.assert(
    fc.property(
      fc.nat(100_000),
      fc.nat(4_000_000),
      fc.integer({ min: 1, max: 4_000 }),
      (count, top, height) => {
        const { from, to } = visibleRows(count, top, height, 32);
        expect(from).toBeGreaterThanOrEqual(0);
        expect(to).toBeLessThanOrEqual(count);
        expect(to - from).toBeLessThanOrEqual(Math.ceil(height / 32) + 26);
        for (const place of [top, top + height - 1]) {
          const row = Math.floor(place / 32);
          if (row < count && top < count * 32) expect(row >= from && row < to).toBe(true);
        }
      },
    ),
  );
});

test("rows in sight have an element each", () => {
  fc.assert(
    fc.property(
      fc.nat(100_000),
      fc.nat(4_000_000),
      fc.integer({ min: 1, max: 4_000 }),
      (count, top, height) => {
        const { from, to } = visibleRows(count, top, height, 32);
        const slots = Array.from({ length: to - from }, (_, at) => slotOf(from + at, height, 32));
        expect(new Set(slots).size).toBe(slots.length);
      },
    ),
  );
});

test.each([
  [0, "now"],
  [-12_000, "12 s ago"],
  [90_000, "in 1 min"],
  [-3 * 3_600_000, "3 h ago"],
  [-72 * 3_600_000, "3 d ago"],
])("a time %d ms from now is %s", (away, text) => {
  expect(relative(1_000_000_000 + away, 1_000_000_000)).toBe(text);
});

test("lengths of time", () => {
  expect([320, 4_240, 187_000, 7_500_000].map(took)).toEqual(["320 ms", "4.2 s", "3 min 07 s", "2 h 05 min"]);
  expect([999, 61_000, 47 * 3_600_000].map(brief)).toEqual(["999 ms", "1 min", "47 h"]);
});

test("two keys in a row, and only soon after each other", () => {
  let now = 0;
  const done: string[] = [];
  const keys = createKeys(() => now);
  const bind = (name: string) => ({ title: name, run: () => void done.push(name) });
  keys.bind({ "g j": bind("jobs"), j: bind("down") });
  for (const key of ["g", "j", "j", "g"]) keys.press(key);
  now += 2_000;
  keys.press("j");
  expect(done).toEqual(["jobs", "down", "down"]);
  const end = keys.bind({ j: bind("other") });
  keys.press("j");
  end();
  keys.press("j");
  expect(done.slice(3)).toEqual(["other", "down"]);
  expect(keys.list()).toEqual([
    ["g j", "jobs"],
    ["j", "down"],
  ]);
});

test("differences are lines with a sign", () => {
  expect(diffLines({ diff: "--- a\n+++ b\n@@ -1 +1 @@\n-old\n+<b>new</b>" }).map(({ kind }) => kind)).toEqual(
    ["place", "place", "place", "remove", "add"],
  );
  expect(diffLines({ mode: { old: "0600", new: "0644" }, pid: 7 })).toEqual([
    { kind: "remove", text: "- mode: 0600" },
    { kind: "add", text: "+ mode: 0644" },
    { kind: "same", text: "  pid: 7" },
  ]);
  expect(diffLines({ diff: "+\n".repeat(5_000) })).toHaveLength(2_001);
});

test("a difference of a file is one below the path of the file as well, and lists and maps are not JSON", () => {
  const diff = "--- /etc/motd\n+++ /etc/motd\n@@ -1 +1 @@\n-drift\n+Hello\n";
  const lines = diffLines({
    "/etc/motd": { diff, mode: { old: "0600", new: "0644" } },
    groups: { old: ["adm"], new: ["adm", "web"] },
    limits: { soft: { files: 10 } },
    nothing: {},
    script: { new: "one\ntwo\n" },
  });
  expect(lines.map(({ text }) => text)).toEqual([
    "  /etc/motd:",
    "-   mode: 0600",
    "+   mode: 0644",
    "--- /etc/motd",
    "+++ /etc/motd",
    "@@ -1 +1 @@",
    "-drift",
    "+Hello",
    "- groups: [adm]",
    "+ groups: [adm, web]",
    "  limits:",
    "    soft:",
    "      files: 10",
    "+ script:",
    "+   one",
    "+   two",
  ]);
  expect(lines.map(({ kind }) => kind).slice(3, 8)).toEqual(["place", "place", "place", "remove", "add"]);
});

test("a word that is not known is not judged", () => {
  expect(["ok", "alive", "aborted", "constructor", "elsewhere"].map(outcomeOf)).toEqual([
    "ok",
    "ok",
    "failed",
    "skipped",
    "skipped",
  ]);
});

test("addresses are decoded, and broken ones stay as they are", () => {
  expect(placeOf("/console/peels/web%2D1/", "?a=1")).toMatchObject({ path: "/peels/web-1" });
  expect(placeOf("/console/peels/%zz", "").path).toBe("/peels/%zz");
  expect(placeOf("/console", "").path).toBe("/");
});
