import { describe, expect, test } from "bun:test";
import type { Plain } from "../../base/msgpack.ts";
import type { Outcome } from "../../fleet/jobs/outcome.ts";
import type { JobReturn } from "../../fleet/jobs/record.ts";
import type { SeenReturn } from "../../fleet/jobs/show.ts";
import { plainLines } from "../../program/answers/plain-lines.ts";
import { showReturn } from "./show-return.ts";
import { formatReturns } from "./table.ts";

const returned = (fields: Partial<JobReturn>): JobReturn => ({
  success: fields.error === undefined,
  retcode: 0,
  started_at: "2026-01-01T00:00:00.000Z",
  duration_ms: 3,
  ...fields,
});

describe("a value", () => {
  const cases: [string, Plain, string[]][] = [
    ["true", true, ["true"]],
    ["a number", 1.5, ["1.5"]],
    ["null", null, ["null"]],
    ["a word", "web", ["web"]],
    ["a line", "web\n", ["web"]],
    ["an empty text", "", ['""']],
    ["lines", "a\n\n  b\r\nc\n", ["a", "", "  b", "c"]],
    ["bytes", new Uint8Array(7), ["7 bytes"]],
    ["an empty list", [], ["[]"]],
    ["an empty map", {}, ["{}"]],
    ["a list", [1, "b", null], ["[1, b, null]"]],
    ["a list of what looks like one", ["a, b", "c"], ["- a, b", "- c"]],
    ["a long list", ["a".repeat(60), "b".repeat(40)], [`- ${"a".repeat(60)}`, `- ${"b".repeat(40)}`]],
    ["a list of texts", ["a\nb", "c"], ["- a", "  b", "- c"]],
    ["a list of lists", [[1, 2], []], ["- [1, 2]", "- []"]],
    ["a list in a list", [["a\nb", 2]], ["- - a", "    b", "  - 2"]],
    ["a list of maps", [{ a: 1, b: 2 }, { a: 3 }], ["- a: 1", "  b: 2", "- a: 3"]],
    ["a map", { os: "Debian", cpus: 4, none: {} }, ["os: Debian", "cpus: 4", "none: {}"]],
    [
      "maps in maps",
      { mem: { total: 1, free: { low: 2 } } },
      ["mem:", "  total: 1", "  free:", "    low: 2"],
    ],
    ["a text in a map", { motd: "a\nb" }, ["motd:", "  a", "  b"]],
    ["a tab", "a\tb\nc", ["a\tb", "c"]],
    ["colors", "\u001b[1;31mred\u001b[0m", ["red"]],
    ["what would act", "\u001b[2Ja\rb\u202e\n\u0007", ["\\u001b[2Ja\\u000db\\u202e", "\\u0007"]],
    ["a name that would act", { "\u001b[2J": 1 }, ["\\u001b[2J: 1"]],
  ];
  test.each(cases)("%s", (_, value, lines) => {
    expect(plainLines(value)).toEqual(lines);
  });
});

describe("a return", () => {
  const cases: [string, Outcome, SeenReturn | undefined, string, string[]][] = [
    ["nothing yet", "pending", undefined, "", []],
    ["away", "offline", undefined, "not connected: never took the job", []],
    ["silent", "timeout", undefined, "no answer by the deadline", []],
    ["not begun", "cancelled", undefined, "cancelled before it took the job", []],
    ["a scalar", "ok", returned({ return: true }), "true", []],
    ["none", "ok", returned({}), "", []],
    ["a map", "ok", returned({ return: { a: 1 } }), "", ["a: 1"]],
    [
      "a value that is omitted",
      "ok",
      { ...returned({}), truncated: true },
      "(left out: too much for one view, ask with --peel)",
      [],
    ],
    ["an error", "failed", returned({ error: "no such file" }), "no such file", []],
    [
      "an error over lines",
      "failed",
      returned({ error: "at line 3\n  x\n  ^" }),
      "at line 3",
      ["  x", "  ^"],
    ],
    ["an error and null", "failed", returned({ error: "no", return: null }), "no", []],
    ["an error and a value", "failed", returned({ error: "no", return: { a: 1 } }), "no", ["a: 1"]],
    ["a busy peel", "busy", returned({ error: "peel busy" }), "peel busy", []],
    ["output of one line", "ok", returned({ return: output("up 3 days\n") }), "up 3 days", []],
    ["no output", "ok", returned({ return: output("") }), "(no output)", []],
    ["output", "ok", returned({ return: output("a\n\nb\n") }), "", ["a", "", "b"]],
    ["output on both", "ok", returned({ return: output("a", "w\nx\n") }), "", ["a", "stderr:", "  w", "  x"]],
    ["output on stderr alone", "ok", returned({ return: output("", "w\n") }), "", ["stderr:", "  w"]],
    [
      "output and more",
      "ok",
      returned({ return: { ...output("a\n"), truncated: true } }),
      "",
      ["a", "truncated: true"],
    ],
    [
      "output of a command that failed",
      "failed",
      returned({ error: "exit status 2", retcode: 2, return: output("a\n", "w\n", 2) }),
      "exit status 2",
      ["a", "stderr:", "  w"],
    ],
    [
      "a map that is not an output",
      "ok",
      returned({ return: { stdout: 1, stderr: "" } }),
      "",
      ["stdout: 1", 'stderr: ""'],
    ],
  ];
  test.each(cases)("%s", (_, outcome, value, cell, details) => {
    expect(showReturn(outcome, value)).toEqual({ cell, details });
  });

  function output(stdout: string, stderr = "", retcode = 0): Record<string, Plain> {
    return { stdout, stderr, retcode, pid: 9 };
  }
});

test("the table: details below their peel, who did not end well last", () => {
  const view = {
    targets: ["a-1", "db-2_example_com", "web-1"],
    outcomes: { "a-1": "offline", "db-2_example_com": "ok", "web-1": "ok" } as const,
    returns: {
      "db-2_example_com": returned({ return: "x\ny\n" }),
      "web-1": { ...returned({ return: 7 }), late: true as const },
    },
  };
  expect(formatReturns(view, { color: false }).split("\n")).toEqual([
    "PEEL ID           OUTCOME    RETURN",
    "db-2.example.com  ok",
    "    x",
    "    y",
    "web-1             ok (late)  7",
    "a-1               offline    not connected: never took the job",
  ]);
});

test("a hostile peel cannot add a line to the table", () => {
  const view = {
    targets: ["a"],
    outcomes: { a: "failed" } as const,
    returns: { a: returned({ error: "x\nb  ok  true\u001b[1A" }) },
  };
  expect(formatReturns(view, { color: false }).split("\n")).toEqual([
    "PEEL ID  OUTCOME  RETURN",
    "a        failed   x",
    "    b  ok  true\\u001b[1A",
  ]);
});
