import { expect, test } from "bun:test";
import type { Entry } from "./history.ts";
import { formatReport, markdownOf, reportOf } from "./report.ts";

const fault = (at: number, name: string, ...[readyMs, firstJobMs, recoveredMs]: number[]): Entry => ({
  kind: "fault",
  at,
  ended: at + 5_000,
  fault: name,
  victim: "n1",
  ...(readyMs === undefined ? {} : { readyMs }),
  ...(firstJobMs === undefined ? {} : { firstJobMs }),
  ...(recoveredMs === undefined ? {} : { recoveredMs }),
});

const history = [
  fault(10_000, "kill bus", 300, 700, 1_200),
  fault(30_000, "full disk"),
  fault(50_000, "kill bus", 300, 2_100, 3_400),
  fault(70_000, "split cluster", 800, 900),
  fault(90_000, "split cluster", 700, 1_900, 2_000),
];
const report = reportOf(history, [
  { invariant: "effects once", at: 52_000, text: "" },
  { invariant: "replicas equal", at: 31_000, text: "" },
  { invariant: "replicas equal", at: 49_000, text: "" },
  { invariant: "nothing lost", at: 1_000, text: "" },
]);
const promises = [
  "one state",
  "credentials once",
  "revoked stay out",
  "effects once",
  "one true outcome",
  "nothing lost",
  "replicas equal",
  "readiness true",
];
const held = (broken: Record<string, string> = {}) => promises.map((name) => broken[name] ?? "held");
const rows = [
  ["fault", "times", "ready", "first job", "all masters", ...promises],
  [
    ...["full disk", "1", "1 not in time", "1 not in time", "1 not in time"],
    ...held({ "replicas equal": "2 BROKEN" }),
  ],
  ["kill bus", "2", "0.3 s", "0.7-2.1 s", "1.2-3.4 s", ...held({ "effects once": "1 BROKEN" })],
  ["split cluster", "2", "0.7-0.8 s", "0.9-1.9 s", "2.0 s, 1 not in time", ...held()],
  ["none", "0", "-", "-", "-", ...held({ "nothing lost": "1 BROKEN" })],
];

test("a violation counts for the fault in or after which it began, and each recovery is there", () => {
  expect(report).toEqual(rows);
});

test("the same table is written for a terminal and for a page", () => {
  const cells = formatReport(report)
    .split("\n")
    .map((line) => line.trim().split(/ {2,}/));
  expect(cells).toEqual(rows);
  const [heads = "", rule, ...lines] = markdownOf(report).split("\n");
  const inPage = [heads, ...lines].map((line) => line.slice(2, -2).split(" | "));
  expect(inPage).toEqual(rows);
  expect(rule).toBe(`| ${heads.slice(2, -2).replaceAll(/[^|]+/g, " --- ").trim()} |`);
});
