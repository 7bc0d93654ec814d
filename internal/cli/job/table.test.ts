import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import type { Plain } from "../../base/msgpack.ts";
import type { Outcome } from "../../fleet/jobs/records/outcome.ts";
import type { SeenReturn } from "../../fleet/jobs/show.ts";
import { plainLines } from "../../program/answers/plain-lines.ts";
import type { JobReturn } from "../../wire/return.ts";
import { createAnswers } from "./answers.ts";
import { groupAnswers } from "./group.ts";
import { showReturn, showSilence } from "./show-return.ts";
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
    const shown = value === undefined ? showSilence(outcome) : showReturn(value);
    expect(shown).toEqual({ cell, details });
  });

  function output(stdout: string, stderr = "", retcode = 0): Record<string, Plain> {
    return { stdout, stderr, retcode, pid: 9 };
  }
});

const now = new Date(2026, 0, 2, 14, 2).getTime();

type View = Parameters<typeof formatReturns>[0];

/** The table of a job whose targets returned these. */
function table(view: Omit<View, "jid">, options: { full?: boolean; terse?: boolean } = {}): string[] {
  const answers = createAnswers(options);
  const { targets } = view;
  for (const [peel, seen] of Object.entries(view.returns)) answers.take(peel, seen, targets.length);
  return formatReturns({ jid: "job-1", ...view }, answers, { color: false, now, ...options }).split("\n");
}

/** A job that ended well on all of these. */
const viewOf = (returns: Record<string, Plain>): Omit<View, "jid"> => ({
  targets: Object.keys(returns),
  outcomes: Object.fromEntries(Object.keys(returns).map((peel) => [peel, "ok"])),
  returns: Object.fromEntries(
    Object.entries(returns).map(([peel, value]) => [peel, returned({ return: value })]),
  ),
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
  expect(table(view)).toEqual([
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
  expect(table(view)).toEqual([
    "PEEL ID  OUTCOME  RETURN",
    "a        failed   x",
    "    b  ok  true\\u001b[1A",
  ]);
});

describe("equal answers", () => {
  const equal = (count: number, value: Plain) =>
    viewOf(Object.fromEntries(Array.from({ length: count }, (_, i) => [`web-${i + 1}`, value])));

  test("are one row, in the order of the targets", () => {
    const view = viewOf({ "a-1": "x\ny", "b-1": true, "c-1": "x\ny", "d-1": false });
    expect(table(view)).toEqual([
      "PEEL ID            OUTCOME  RETURN",
      "2 peels: a-1, c-1  ok",
      "    x",
      "    y",
      "b-1                ok       true",
      "d-1                ok       false",
    ]);
  });

  test("of many peels name the first, and how to see all", () => {
    expect(table(equal(12, true))).toEqual([
      "PEEL ID                                  OUTCOME  RETURN",
      "12 peels: web-1, web-2, web-3, web-4, …  ok       true",
      "… each peel in a row of its own: svc job show job-1 --full",
    ]);
    expect(table(equal(12, true), { full: true })).toHaveLength(13);
  });

  test("of many peels that did not end well name each, whatever the width", () => {
    const view = equal(12, true);
    const outcomes = Object.fromEntries(
      view.targets.map((peel, at) => [peel, at < 9 ? "timeout" : "ok"] as const),
    );
    const targets = view.targets;
    expect(table({ targets, outcomes, returns: {} })).toEqual([
      "PEEL ID                          OUTCOME  RETURN",
      "3 peels: web-10, web-11, web-12  ok       the answer was discarded to make room for later ones",
      "9 peels                          timeout  no answer by the deadline",
      "    web-1, web-2, web-3, web-4, web-5, web-6, web-7, web-8, web-9",
    ]);
    const since = new Date(now - 60_000).toISOString();
    const outcomesAway = { ...outcomes, "web-1": "pending" as const, "web-2": "pending" as const };
    const away = { "web-1": { since }, "web-2": { since } };
    expect(
      table({
        targets: ["web-10", "web-1", "web-2"],
        outcomes: outcomesAway,
        returns: {},
        not_connected: away,
      }),
    ).toEqual([
      "PEEL ID                OUTCOME                              RETURN",
      "web-10                 ok                                   the answer was discarded to make room for later ones",
      "2 peels: web-1, web-2  pending (not connected since 14:01)",
    ]);
    const narrow = formatReturns({ jid: "job-1", targets, outcomes, returns: {} }, createAnswers({}), {
      ...{ color: false, now },
      width: 40,
    });
    expect(narrow).toContain("\n    web-1, web-2, web-3, web-4, web-5,\n    web-6, web-7, web-8, web-9");
  });

  test("of very many name a thousand, and of those that are waiting only the first", () => {
    const targets = Array.from({ length: 1_234 }, (_, at) => `w${at}`);
    const all = (outcome: "failed" | "pending") =>
      table({ targets, outcomes: Object.fromEntries(targets.map((peel) => [peel, outcome])), returns: {} });
    expect(all("failed").at(-1)).toEndWith("w999 and 234 more");
    expect(all("pending")).toHaveLength(3);
  });

  test("that did not come are one row for each outcome", () => {
    const view = {
      targets: ["a", "b", "c", "d"],
      outcomes: { a: "offline", b: "timeout", c: "offline", d: "ok" } as const,
      returns: { d: returned({ return: 1 }) },
    };
    expect(table(view).slice(1)).toEqual([
      "d              ok       1",
      "2 peels: a, c  offline  not connected: never took the job",
      "b              timeout  no answer by the deadline",
    ]);
  });

  test("with another outcome, or late, are apart", () => {
    const view = equal(2, 7);
    const late = { ...view.returns["web-2"], late: true as const } as SeenReturn;
    expect(table({ ...view, returns: { ...view.returns, "web-2": late } })).toHaveLength(3);
  });

  test("are the same whatever the order in which they came, and no peel is lost", () => {
    const some = fc.dictionary(fc.stringMatching(/^[a-z]{2,5}$/), fc.constantFrom("x", "y\nz", true, null));
    fc.assert(
      fc.property(some, (values) => {
        const view = viewOf(values);
        const turned = { ...view, returns: Object.fromEntries(Object.entries(view.returns).reverse()) };
        expect(table(turned)).toEqual(table(view));
        const answers = createAnswers();
        for (const [peel, seen] of Object.entries(view.returns))
          answers.take(peel, seen, view.targets.length);
        const grouped = groupAnswers(view, answers, { now }).flatMap(({ peels }) => peels);
        expect(grouped.sort()).toEqual([...view.targets].sort());
      }),
    );
  });

  test("of runs of states are equal whatever time they took", () => {
    const run = (duration_ms: number, failed: number): Plain => ({
      states: Array.from({ length: failed }, (_, i) => ({
        ...{ id: `s${i}`, function: "file.managed", result: false, comment: "no", changes: {} },
      })),
      summary: { ok: 3, changed: 0, failed, skipped: 0, duration_ms, test: false },
    });
    expect(table(viewOf({ "a-1": run(900, 0), "b-1": run(1_300, 0), "c-1": run(900, 1) }))).toEqual([
      "PEEL ID            OUTCOME  RETURN",
      "2 peels: a-1, b-1  ok       3 ok (0.9 to 1.3 s)",
      "c-1                ok       1 failed, 3 ok (0.9 s)",
      "    FAILED: file.managed s0",
      "      no",
    ]);
  });
});

describe("a long answer", () => {
  const lines = (count: number) => Array.from({ length: count }, (_, i) => `line ${i + 1}`).join("\n");

  test("is folded with a hint where it is one among many, and whole where it is not", () => {
    const shown = table(viewOf({ "a-1": lines(60), "b-1": 1 }));
    expect(shown.slice(1, 3)).toEqual(["a-1      ok", "    line 1"]);
    expect(shown.slice(20, 23)).toEqual(
      ["    line 19", "    line 20", "    … 40 more lines: svc job show job-1 --peel a-1"].slice(0, 3),
    );
    expect(table(viewOf({ "a-1": lines(60) }))).toHaveLength(62);
    expect(table(viewOf({ "a-1": lines(60), "b-1": 1 }), { full: true })).toHaveLength(63);
    expect(table(viewOf({ "a-1": lines(25), "b-1": 1 }))).toHaveLength(28);
  });

  test("of what failed keeps its end", () => {
    const view = {
      targets: ["a-1", "b-1"],
      outcomes: { "a-1": "failed", "b-1": "ok" } as const,
      returns: {
        "a-1": { ...returned({ error: "exited with 1", return: lines(60) }), retcode: 1 },
        "b-1": returned({ return: 1 }),
      },
    };
    const shown = table(view);
    expect(shown[3]).toBe("    … 40 more lines: svc job show job-1 --peel a-1");
    expect(shown.at(-1)).toBe("    line 60");
  });

  test("keeps which states failed, and not what was changed before", () => {
    const state = (id: string, result: boolean) => ({
      ...{ id, function: "cmd.run", result, comment: "", changes: { a: 1 } },
    });
    const run = {
      states: [...Array.from({ length: 30 }, (_, i) => state(`s${i}`, true)), state("bad", false)],
      summary: { ok: 0, changed: 30, failed: 1, skipped: 0, duration_ms: 1, test: false },
    };
    const view = viewOf({ "a-1": run, "b-1": 1 });
    expect(table(view).slice(2, 6)).toEqual([
      "    FAILED: cmd.run bad",
      "      a: 1",
      "    … 60 more lines: svc job show job-1 --peel a-1",
      "b-1      ok       1",
    ]);
    expect(table(view, { terse: true }).slice(2, 5)).toEqual([
      "    FAILED: cmd.run bad",
      "      a: 1",
      "b-1      ok       1",
    ]);
  });

  test("of one line is cut", () => {
    const shown = table(viewOf({ "a-1": "x".repeat(5_000), "b-1": 1 }));
    expect(shown[1]).toEndWith(`${"x".repeat(10)}… (5000 characters)`);
  });
});

test("equal answers are kept once, however many peels give them", () => {
  const answers = createAnswers();
  const value = "a line\n".repeat(10_000);
  for (let at = 0; at < 100; at++) answers.take(`p-${at}`, returned({ return: value }), 2);
  const all = Array.from({ length: 100 }, (_, at) => answers.of(`p-${at}`)?.answer);
  expect(new Set(all).size).toBe(1);
  expect(all[0]?.lines).toHaveLength(20);
});
