import { expect, test } from "bun:test";
import { type ReportedTrust, readReportedTrust } from "./reported.ts";
import { judgeRoots } from "./roots.ts";

const pin = (digit: string) => `sha256:${digit.repeat(64)}`;
const [current, next, foreign] = [pin("a"), pin("b"), pin("c")];
const before = { name: "m1", ca_spki: current };
const start = { ...before, ca_next_spki: next, ca_phase: "start" };
const activate = { ...start, ca_phase: "activate" };
const finished = { name: "m2", ca_spki: next };
const trusts = (...roots: string[]): ReportedTrust => ({ roots, busCaFile: undefined, refused: [] });
const rotation = { kind: "rotation" as const, reason: "no", at: "" };

test.each([
  ["no rotation", trusts(current), [before], "ok", "trusts the root", undefined],
  [
    "a peel that reports no roots",
    { ...trusts(), roots: undefined },
    [before],
    "ok",
    "does not report",
    undefined,
  ],
  ["no facts", undefined, [before], "skip", "no facts", "step facts"],
  ["no master", trusts(current), [], "skip", "no running master", "step masters"],
  ["a master with an external CA", trusts(current), [{ name: "m1" }], "skip", "external", "enroll_ca"],
  ["another root", trusts(foreign), [before], "fail", `wrong root: it trusts ${foreign}`, "enroll_ca_pin"],
  ["no root at all", trusts(), [before], "fail", "it trusts no root", "svc ca fingerprint"],
  ["off through the rotation", trusts(current), [finished], "fail", `m2 presents ${next}`, "nats-ca.crt"],
  [
    "a master left behind",
    trusts(next),
    [finished, before],
    "fail",
    `m1 presents ${current}`,
    "CA directory to m1",
  ],
  ["both roots at start", trusts(current, next), [start], "ok", "phase start", undefined],
  ["both roots at activate", trusts(current, next), [activate], "ok", "phase activate", undefined],
  ["the next one only, at activate", trusts(next), [activate], "ok", "next root", undefined],
  ["the next one only, at start", trusts(next), [start], "fail", "wrong root", "svc ca fingerprint"],
  ["the current one at start", trusts(current), [start], "warn", `confirmed ${next}`, "svc-peel check"],
  ["the current one at activate", trusts(current), [activate], "fail", "next root missing", "svc-peel check"],
  [
    "unreported at start",
    { ...trusts(), roots: undefined },
    [start],
    "warn",
    "next root missing",
    "svc-peel check",
  ],
  [
    "a named file",
    { ...trusts(current), busCaFile: "/x.crt" },
    [start],
    "warn",
    "missing",
    "to /x.crt on its host",
  ],
  [
    "a refused rotation",
    { ...trusts(current), refused: [rotation] },
    [start],
    "warn",
    "missing",
    "statements",
  ],
] as const)("%s", (_, reported, masters, level, message, next_) => {
  const found = judgeRoots(reported, masters, true);
  expect([found.level, found.message]).toEqual([level, expect.stringContaining(message)]);
  expect(found.next).toEqual(next_ === undefined ? undefined : expect.stringContaining(next_));
});

test("a peel that is off learns the next root when it starts", () => {
  expect(judgeRoots(trusts(current), [start], false)).toMatchObject({
    level: "warn",
    next: expect.stringContaining("start it"),
  });
});

test("facts are claims: whatever a peel stores is read as nothing, or shown in one bounded line", () => {
  const nothing = { roots: undefined, busCaFile: undefined, refused: [] };
  for (const value of [1, [], { trust_roots: 5, bus_ca_file: {}, refused_statements: "x" }, null]) {
    expect(readReportedTrust(value)).toEqual(nothing);
  }
  const hostile = readReportedTrust({
    trust_roots: ["FAIL  x\n  next: run this", ...Array.from({ length: 5_000 }, () => foreign)],
    bus_ca_file: `${"long ".repeat(10_000)}`,
  });
  const found = judgeRoots(hostile, [before], true);
  expect(found.message).not.toContain("run this");
  expect(found.message.length).toBeLessThan(600);
  expect(judgeRoots({ ...hostile, roots: [current] }, [start], true).next?.length).toBeLessThan(500);
});
