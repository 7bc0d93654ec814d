import { expect, test } from "bun:test";
import { formatChanges } from "../../internal/cli/approval/changes.ts";
import { readPage } from "./pages.ts";

test("the page shows differences as svc prints them", () => {
  const files = [
    { change: "+" as const, path: "db.sls" },
    { change: "~" as const, path: "web.sls" },
  ];
  const ran = { last: "ran" as const, environment: "base", commit: "4f1d2c", snapshot: "5c".repeat(32) };
  const diff = "--- web.sls\n+++ web.sls\n@@ -1 +1 @@\n-nginx: pkg.installed\n+nginx: pkg.latest\n";
  const text = formatChanges({
    changes: [
      {
        ...{ peels: 12, such_as: ["web-1", "web-2", "web-3"], ...ran, added: 1, changed: 1, removed: 0 },
        ...{ files, left_out: 0, diff },
      },
      {
        ...{ peels: 1, such_as: ["web-13"], last: "never_ran", added: 2, changed: 0, removed: 0 },
        ...{ files: files.map(({ path }) => ({ change: "+" as const, path })), left_out: 0 },
      },
    ],
  });
  expect(readPage("docs/approvals.md")).toContain(`\`\`\`text\n${text}\n\`\`\``);
});

test("what is not compared, or left out, is said", () => {
  const none = { added: 0, changed: 0, removed: 0, files: [], left_out: 0 };
  const group = { peels: 1, such_as: ["web-1"], ...none };
  const text = formatChanges({
    changes: [
      { ...group, last: "test_only", problem: "no longer stored" },
      { ...group, last: "unknown", changed: 3, left_out: 3 },
      { ...group, last: "ran", environment: "base", commit: "" },
    ],
    changes_left_out: 2,
  });
  expect(text.split("\n")).toEqual([
    ...[
      "1 peel, web-1: ran only a test last, so all files are shown",
      "  not compared: no longer stored",
      "",
    ],
    "1 peel, web-1: it is not known what they ran last, so all files are shown",
    ...["  0 new, 3 changed, 0 removed", "  and 3 more files", ""],
    ...["1 peel, web-1: ran base", "  the same files", ""],
    "2 more groups of peels, which ran other files, are not compared",
  ]);
});
