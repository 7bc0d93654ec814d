import { expect, test } from "bun:test";
import { chainWords } from "./chain-words.ts";
import { type AuditEntry, subjectText, withoutBeginnings } from "./entry.ts";
import { searchOf } from "./search.ts";
import { judgeEntries } from "./whole.ts";

test("an address is a search; what it does not know does not count", () => {
  const now = Date.parse("2026-03-02T10:00:00Z");
  const query = new URLSearchParams("by=ann&action=jobs.*&outcome=refused&since=24h&before=77&peel=");
  expect(searchOf(query, now)).toEqual({
    ...{ by: "ann", action: "jobs.*", outcome: "refused", peel: undefined, cursor: "77", limit: 200 },
    since: "2026-03-01T10:00:00.000Z",
  });
  expect(searchOf(new URLSearchParams("outcome=odd&since=toString"), now)).toMatchObject({
    outcome: undefined,
    since: undefined,
  });
});

test("an entry that is not genuine, or is missing between two others, is shown", () => {
  const entry = (seq: number, genuine = true) => ({ seq, genuine });
  expect(judgeEntries([entry(3), entry(2), entry(1)], { filtered: false })).toEqual({ forged: [], gaps: [] });
  expect(judgeEntries([entry(9, false), entry(5), entry(4)], { filtered: false })).toEqual({
    forged: [9],
    gaps: ["6 to 8"],
  });
  expect(judgeEntries([entry(9), entry(7)], { filtered: false }).gaps).toEqual(["8"]);
  expect(judgeEntries([entry(9), entry(5)], { filtered: true }).gaps).toEqual([]);
});

test("the verification of the chain is described in words", () => {
  const state = { entries: 12, first: 1, verified: 12, last: 12, began_at: "", done: true, found: 0 };
  const whole = "masters of this fleet signed each, and each names the one before.";
  expect(chainWords(state)).toEqual({ word: "chain whole", outcome: "ok", text: `12 entries: ${whole}` });
  expect(chainWords({ ...state, first: 12, entries: 1 }).text).toBe(
    `1 entry: ${whole} It begins with entry 12: older ones expired.`,
  );
  expect(chainWords({ ...state, verified: 5, done: false })).toMatchObject({
    ...{ word: "verifying", text: "Entry 5 of 12." },
  });
  expect(chainWords({ ...state, found: 1 })).toMatchObject({
    ...{ word: "broken", outcome: "failed", text: "1 problem among 12 entries that were verified." },
  });
  expect(chainWords({ ...state, entries: 0, verified: 0, last: 0 }).word).toBe("empty");
});

test("subjects are one line", () => {
  expect(subjectText({ subjects: { peel: "web-1", count: 2, all: ["<b>"] } })).toBe(
    "peel=web-1 count=2 all=<b>",
  );
});

test("what began and ended is one row, and what began and has no end here stays", () => {
  const entry = (seq: number, outcome: AuditEntry["outcome"], subjects: AuditEntry["subjects"] = {}) => ({
    ...{ seq, outcome, subjects },
  });
  const entries = [
    entry(6, "done", { begun: 4, job: "j" }),
    entry(5, "begun"),
    entry(4, "begun", { job: "j" }),
    entry(3, "refused"),
    entry(2, "failed", { begun: 1 }),
  ];
  expect(withoutBeginnings(entries).map(({ seq }) => seq)).toEqual([6, 5, 3, 2]);
  expect(subjectText(entries[0] as (typeof entries)[number])).toBe("job=j");
});
