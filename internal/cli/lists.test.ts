import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { hostTables } from "../../test/harness/tables/hosts.ts";
import { otherTables } from "../../test/harness/tables/others.ts";
import { seeingTables } from "../../test/harness/tables/seeing.ts";
import type { TableStyle } from "../program/command-line/mod.ts";

const tables = { ...hostTables, ...seeingTables, ...otherTables };
/** Shows values of hosts whole, as the terminal breaks them: a cut value is another one. */
const unbound = "job/table.ts";

const clock = { now: () => Date.parse("2026-01-10T00:00:00.000Z") };
const style: TableStyle = { color: false, clock, width: 80 };
const long = "x".repeat(250);
const calls = /\bformatTable\(/g;

/** How often each file of the command line formats a table. */
const callsOf = new Map(
  readdirSync(import.meta.dir, { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".ts") && !path.endsWith(".test.ts"))
    .map(
      (path) => [path, readFileSync(join(import.meta.dir, path), "utf8").match(calls)?.length ?? 0] as const,
    )
    .filter(([, count]) => count > 0),
);

test("every file with a table is below", () => {
  expect(Object.keys(tables).sort()).toEqual([...callsOf.keys()].filter((path) => path !== unbound).sort());
});

describe.each(Object.entries(tables))("%s", (file, show) => {
  test.each([80, 60])("fits into %d columns", (width) => {
    for (const name of [long, "日本語".repeat(80), "\u001b[2J\u202e".repeat(20), "a b ".repeat(60)]) {
      for (const line of show({ ...style, width }, name).split("\n")) {
        // A sentence next to its name is broken by the terminal.
        if (width === 80 || !line.startsWith("credentials  ")) {
          expect([line, Bun.stringWidth(line) <= width]).toEqual([line, true]);
        }
        expect(line).not.toMatch(/[\p{Cc}\p{Bidi_Control}]/u);
      }
    }
  });

  test("shows everything with --wide", () => {
    const wide = show({ ...style, wide: true }, long);
    expect(wide).toContain(file === "facts/history.ts" ? long.slice(0, 50) : long);
    expect(wide.replaceAll(/, …$/gm, "")).not.toContain("…");
  });

  test("each of its tables is tried, and says what it hides", () => {
    let tried = 0;
    const hidden = new Set<string>();
    const narrow: TableStyle = {
      ...style,
      width: 60,
      // Each call reads the style once.
      get color() {
        tried++;
        return false;
      },
      noteHidden: (heads) => {
        for (const head of heads) hidden.add(head);
      },
    };
    const heads = show({ ...style, wide: true }, "web-1");
    show(narrow, long);
    expect(tried).toBeGreaterThanOrEqual(callsOf.get(file) ?? 1);
    for (const head of hidden) expect(heads).toContain(head);
  });
});
