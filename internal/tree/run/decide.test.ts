import { expect, test } from "bun:test";
import type { RequisiteKind } from "../function/low.ts";
import { decide, type Met } from "./decide.ts";

const ended = {
  ok: { label: "ok", result: true, changed: false },
  changed: { label: "changed", result: true, changed: true },
  would: { label: "would", result: null, changed: true },
  failed: { label: "failed", result: false, changed: false },
  broken: { label: "broken", result: false, changed: true },
} as const;
type How = keyof typeof ended;

function met(kind: RequisiteKind, ...targets: How[]): Met {
  return { kind, targets: targets.map((how) => ended[how]) };
}

test.each<[Met[], string]>([
  [[], "run"],
  [[met("require", "ok", "changed", "would")], "run"],
  [[met("require", "ok", "failed")], "fail"],
  [[met("require")], "run"],
  [[met("require_any", "failed", "ok")], "run"],
  [[met("require_any", "failed", "failed")], "fail"],
  [[met("watch", "ok")], "run"],
  [[met("watch", "ok", "changed")], "run watched"],
  [[met("watch", "would")], "run watched"],
  [[met("watch", "changed", "failed")], "fail"],
  [[met("watch_any", "changed", "failed")], "run watched"],
  [[met("onchanges", "ok")], "skip"],
  [[met("onchanges", "ok", "changed")], "run"],
  [[met("onchanges", "would")], "run"],
  [[met("onchanges", "changed", "failed")], "fail"],
  [[met("onchanges"), met("require", "ok")], "skip"],
  [[met("onchanges_any", "changed", "failed")], "run"],
  [[met("onchanges_any", "ok", "failed")], "fail"],
  [[met("onchanges_any", "ok", "ok")], "skip"],
  [[met("onchanges_any", "failed")], "fail"],
  [[met("onchanges", "ok"), met("onchanges", "changed")], "run"],
  [[met("onfail", "ok")], "skip"],
  [[met("onfail", "ok", "failed")], "run"],
  [[met("onfail", "would")], "skip"],
  [[met("onfail_all", "ok", "failed")], "skip"],
  [[met("onfail_all", "failed", "failed")], "run"],
  [[met("onfail", "failed"), met("require", "failed")], "fail"],
  [[met("onfail", "ok"), met("require", "failed")], "fail"],
  [[met("prereq", "ok")], "skip"],
  [[met("prereq", "ok", "changed")], "run"],
  [[met("listen", "failed", "changed")], "run"],
  [[met("onchanges", "changed"), met("onfail", "ok")], "skip"],
  // The entries of a list count together, as if one entry named all their states.
  [[met("require_any", "failed"), met("require_any", "ok")], "run"],
  [[met("require_any", "failed"), met("require_any", "failed")], "fail"],
  [[met("require_any", "failed"), met("require_any", "ok"), met("require", "failed")], "fail"],
  [[met("watch_any", "failed"), met("watch_any", "changed")], "run watched"],
  [[met("watch_any", "failed"), met("watch_any", "ok")], "run"],
  [[met("watch_any", "failed"), met("watch_any", "failed")], "fail"],
  [[met("onchanges_any", "failed"), met("onchanges_any", "changed")], "run"],
  [[met("onchanges_any", "failed"), met("onchanges_any", "ok")], "fail"],
  [[met("onchanges_any", "ok"), met("onchanges_any", "changed")], "run"],
  [[met("watch_any", "broken", "ok")], "run"],
  [[met("onchanges_any", "broken", "ok")], "fail"],
  [[met("onfail_all", "failed"), met("onfail_all", "ok")], "skip"],
  [[met("onfail_all", "failed"), met("onfail_all", "failed")], "run"],
  // Two lists are two conditions, except that one change anywhere is a reason for onchanges.
  [[met("require_any", "ok"), met("watch_any", "failed")], "fail"],
  [[met("onfail", "failed"), met("onfail_all", "failed"), met("onfail_all", "ok")], "skip"],
  [[met("onfail", "ok"), met("onfail_all", "failed")], "skip"],
  [[met("onchanges", "ok"), met("onchanges_any", "changed")], "run"],
])("%j", (requisites, expected) => {
  const decision = decide(requisites);
  expect(decision.act === "run" && decision.watched ? "run watched" : decision.act).toBe(expected);
});

test("names the failed states", () => {
  expect(decide([met("require", "failed"), met("watch", "failed")])).toEqual({
    act: "fail",
    reason: "not run: failed failed",
  });
  const many = ["a", "b", "c", "d", "e"].map((label) => ({ label, result: true, changed: false }));
  expect(decide([{ kind: "onchanges", targets: many }])).toEqual({
    act: "skip",
    reason: "not run: a, b, c and 2 more did not change",
  });
  expect(decide([met("onfail_all", "failed"), met("onfail_all", "ok")])).toEqual({
    act: "skip",
    reason: "not run: ok did not fail",
  });
});
