import { expect, test } from "bun:test";
import type { EnrollmentSummary } from "../../fleet/enrollment/record/mod.ts";
import { chooseEnrollment, inStates, isEnrollmentId, tampered } from "./choose-enrollment.ts";

const one = (id: string, more: Partial<EnrollmentSummary>): EnrollmentSummary => ({
  ...{ id, peel_id: "web-1_example_com", hostname: "web-1.example.com", state: "pending", trust: "-" },
  ...{ created_at: "2026-01-01T00:00:00.000Z", fingerprint: "F1" },
  ...more,
});
const pending = inStates(["pending"]);
const members = inStates(["approved", "issued", "active"]);
const listed = [
  one("enr-waiting", {}),
  one("enr-active", { peel_id: "db-1_example_com", hostname: "db-1", state: "active" }),
  one("enr-new", { peel_id: "app-1", hostname: "", fingerprint: "F2" }),
  one("enr-old", { peel_id: "app-1", hostname: "", state: "active", trust: "TAMPERED" }),
  one("enr-second", { peel_id: "gone-1", hostname: "", state: "revoked" }),
  one("enr-first", { peel_id: "gone-1", hostname: "", state: "rejected" }),
  one("enr-liar", { peel_id: "evil", hostname: "web-1.example.com", state: "revoked" }),
];

test.each([
  ["enr-3MRx", true],
  ["enr-1", true],
  ["enr-1.example.com", false],
  ["web-1", false],
])("%j names an enrollment by its id: %p", (text, isId) => {
  expect(isEnrollmentId(text)).toBe(isId);
});

test.each([
  ["the id of a peel with dots", "web-1.example.com", pending, "enr-waiting"],
  ["the encoded id of a peel", "web-1_example_com", pending, "enr-waiting"],
  ["the id of a peel, written large", "WEB-1.example.com", pending, "enr-waiting"],
  ["the name of a host", "db-1", members, "enr-active"],
  ["the one that can be decided on of several", "app-1", pending, "enr-new"],
  ["the other one", "app-1", members, "enr-old"],
  ["the one that no master vouches for", "app-1", tampered, "enr-old"],
  ["the one in force, where nothing is decided", "db-1.example.com", undefined, "enr-active"],
  ["the last one, where none is in force", "gone-1", undefined, "enr-second"],
])("%s names one enrollment", (_, name, wanted, id) => {
  expect(chooseEnrollment(name, listed, wanted).id).toBe(id);
});

test.each([
  ["db-1", pending, "no enrollment of db-1 is pending; there is enr-active (active)"],
  [
    "gone-1",
    members,
    "no enrollment of gone-1 is approved, issued or active; there is enr-second (revoked); enr-first (rejected)",
  ],
  [
    "wbe-1.example.com",
    pending,
    "no enrollment of wbe-1.example.com (did you mean web-1.example.com?): see svc enroll list --state all",
  ],
  ["nobody", undefined, "no enrollment of nobody: see svc enroll list --state all"],
  [
    "app-1",
    undefined,
    "several enrollments are of app-1: give the id of one. There are enr-new (app-1, pending, F2); enr-old (app-1, active, F1)",
  ],
])("%s names none, or several", (name, wanted, message) => {
  expect(() => chooseEnrollment(name, listed, wanted)).toThrow(message);
});

test("a second host of the same name is never chosen between", () => {
  const both = [...listed, one("enr-evil", { peel_id: "evil", fingerprint: "F3" })];
  expect(() => chooseEnrollment("web-1.example.com", both, pending)).toThrow(
    "enr-waiting (web-1.example.com, pending, F1); enr-evil (evil, pending, F3)",
  );
});

test("one that is listed twice, as its state changed meanwhile, is one", () => {
  expect(chooseEnrollment("web-1.example.com", [...listed, one("enr-waiting", {})], pending).id).toBe(
    "enr-waiting",
  );
});
