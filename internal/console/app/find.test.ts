import { expect, test } from "bun:test";
import { findGoals, type Goal } from "./find.ts";

const goals: readonly Goal[] = [
  { kind: "Page", name: "Peels", path: "/peels" },
  { kind: "Page", name: "Jobs", path: "/jobs" },
  { kind: "Peel", name: "db-1.example.com", path: "/peels/db-1.example.com" },
  { kind: "Peel", name: "old-db-1.example.com", path: "/peels/old-db-1.example.com" },
  { kind: "Job", name: "state.apply", about: "failed web-*", path: "/jobs/job-1" },
  { kind: "Job", name: "state.apply", about: "completed db-*", path: "/jobs/job-2" },
];
const paths = (text: string) => findGoals(goals, text).map(({ path }) => path);

test.each([
  ["", goals.map(({ path }) => path)],
  ["DB-1", ["/peels/db-1.example.com", "/peels/old-db-1.example.com"]],
  ["old", ["/peels/old-db-1.example.com"]],
  ["state failed", ["/jobs/job-1"]],
  ["job db", ["/jobs/job-2"]],
  ["  jobs ", ["/jobs"]],
  ["(.*", []],
])("%j finds %j", (text, found) => {
  expect(paths(text)).toEqual(found);
});

test("it stays a short list, with what begins with the text first", () => {
  const many = Array.from({ length: 1_000 }, (_, index) => ({
    kind: "Peel",
    name: `x-web-${index}`,
    path: "/",
  }));
  const found = findGoals([...many, { kind: "Peel", name: "web-0", path: "/0" }], "web");
  expect([found.length, found[0]?.path]).toEqual([12, "/0"]);
});
