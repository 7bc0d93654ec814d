import { expect, test } from "bun:test";
import { notesOn } from "./notes.ts";
import { readRoles } from "./read-roles.ts";

const rule = (functions: string, more = "") =>
  `roles:\n  web:\n    jobs:\n      - functions: ['${functions}']\n        targets: 'web-*'\n${more}`;
const notes = (text: string) => notesOn(readRoles(text, "/etc/svc/roles.yaml").book);

test("a rule that may run what nobody released is named, and so is nothing else", () => {
  const any = "        commits: any\n";
  expect(notes(rule("state.*", any))).toEqual([
    'role web, roles.yaml:4: with "commits: any" it can also run state files that wait for a release (states.require_release), on peels without require_operator: on',
  ]);
  expect(notes(rule("state.*"))).toEqual([]);
  expect(notes(rule("test.ping", any))).toEqual([]);
});

test.each<[enrollments: string, targets: string, label: string | undefined]>([
  ["[label]", "T@team:web", "team"],
  ["[{do: label, labels: {team: [web]}}]", "web-* or not (T@team:web and T@rack:1)", "team"],
  ["[{do: label, labels: {rack: ['*']}}]", "T@team:web", undefined],
  ["[approve]", "T@team:web", undefined],
  ["[label]", "E@T@team:web", undefined],
  ["[label]", "'*'", undefined],
])("a role with enrollments %s and the targets %s", (enrollments, targets, label) => {
  const found = notes(
    `roles:\n  web:\n    enrollments: ${enrollments}\n    jobs:\n      - functions: [test.ping]\n        targets: ${targets}\n`,
  );
  expect(found).toEqual(
    label === undefined
      ? []
      : [
          `role web, roles.yaml:5: its targets use the label ${label}, which the same role may set: it can widen itself to any peel`,
        ],
  );
});
