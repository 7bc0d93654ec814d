import { expect, test } from "bun:test";
import { localTime, pendingLine, pendingWord } from "./pending.ts";

// In the zone of this host, as an operator reads it.
const at = (day: number, hours: number, minutes: number) =>
  new Date(2026, 10, day, hours, minutes, 59).getTime();
const text = (day: number, hours: number, minutes: number) => new Date(at(day, hours, minutes)).toISOString();
const now = at(29, 14, 2);

test.each([
  [text(29, 12, 40), "12:40"],
  [text(29, 0, 5), "00:05"],
  [text(28, 23, 59), "2026-11-28 23:59"],
  [text(30, 0, 0), "2026-11-30 00:00"],
])("%s is shown as %s", (time, shown) => expect(localTime(time, now)).toBe(shown));

test("a peel is pending since it is not connected, where that is known", () => {
  const away = { not_connected: { a: { since: text(29, 12, 40) }, b: {} } };
  expect(["a", "b", "c"].map((peel) => pendingWord(peel, away, now))).toEqual([
    "pending (not connected since 12:40)",
    "pending (not connected)",
    undefined,
  ]);
  expect(pendingWord("a", {}, now)).toBeUndefined();
});

test("a line says until when peels get the job, and how to wait for them", () => {
  const view = { jid: "job-1", deadline: text(29, 14, 3) };
  expect([
    pendingLine({ ...view, not_connected: { a: {}, b: {}, c: {} } }, now),
    pendingLine({ ...view, not_connected: { a: {} } }, now),
    pendingLine(view, now),
  ]).toEqual([
    "3 peels get the job if they come back before 14:03: svc job watch job-1",
    "1 peel gets the job if it comes back before 14:03: svc job watch job-1",
    undefined,
  ]);
});
