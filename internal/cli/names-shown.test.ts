import { expect, test } from "bun:test";
import { type AuditView, aboutLine, readableSubjects } from "./audit/read-pages.ts";
import { tagLine } from "./events/print.ts";

// Ids of peels are shown to people with dots, and other words stay as they are.

test.each([
  [
    "svc/job/job-1/return/web-1_example_com",
    { peel_id: "web-1_example_com" },
    {},
    "svc/job/job-1/return/web-1.example.com",
  ],
  [
    "svc/peel/web-1_example_com/offline",
    {},
    { peel_id: "web-1_example_com" },
    "svc/peel/web-1.example.com/offline",
  ],
  ["disk_full/web-2_example_com", { peel_id: "web-1_example_com" }, {}, "disk_full/web-2_example_com"],
  ["disk_full/x", {}, {}, "disk_full/x"],
])("the tag %s", (tag, source, data, shown) => {
  expect(tagLine({ tag, data, ...source })).toBe(shown);
});

const about = (subjects: AuditView["subjects"]) => aboutLine({ subjects } as AuditView);

test.each([
  [{ peel: "web-1_example_com" }, "peel=web-1.example.com"],
  [{ peels: ["a_b", "c"], function: "a_b.c" }, "peels=a.b,c function=a_b.c"],
  [{ targets: ["a_b", "c_d", "e"] }, "targets=a.b,… (3)"],
  [{ peels: { expression: "web_*" } }, 'peels={"expression":"web_*"}'],
])("what an entry of the audit is about: %j", (subjects, line) => expect(about(subjects)).toBe(line));

test("an entry has its other subjects as they are", () => {
  expect(readableSubjects({ peel: "a_b", operator: "a_b" })).toEqual({ peel: "a.b", operator: "a_b" });
});
