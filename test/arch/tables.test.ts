import { expect, test } from "bun:test";
import { joinedDoors } from "../harness/joined-doors.ts";
import { lines, readRepository } from "./source.ts";
import { checkSubjects, checkTables } from "./tables.ts";

const repository = readRepository();

test("a table of doors is data alone", () => {
  expect(lines(checkTables(repository))).toEqual([]);
});

test("a table that runs or loads something is found", () => {
  const path = "internal/fleet/jobs/doors.ts";
  const check = (text: string) => lines(checkTables([{ path, text }]));
  const head = 'import type * as operations from "./operations.ts";\n';
  expect(check(`${head}export const jobDoors = { a: { rest: { path: "/a", n: 2 * 3 } } } as const;`)).toEqual(
    [],
  );
  expect(check('import { limit } from "./limit.ts";\nexport const a = { limit };')).toEqual([
    `${path}: loads a module; import types alone`,
  ]);
  expect(check("export const a = { b: make() };")).toEqual([
    `${path}: has a CallExpression; a table is data alone`,
  ]);
  expect(check("export const a = { b: () => 1 };")).toEqual([
    `${path}: has a ArrowFunctionExpression; a table is data alone`,
  ]);
});

test("subjects of operators stand in the tables alone", () => {
  expect(lines(checkSubjects(repository))).toEqual([]);
});

test("a subject of operators elsewhere is found", () => {
  const check = (path: string, text: string) => lines(checkSubjects([{ path, text }]));
  for (const text of [
    '"svc.admin.enroll.list"',
    '"svc.job.request"',
    '"svc.job.x.cancel"',
    '"svc.rollout.start"',
  ])
    expect(check("internal/cli/request.ts", text)).toHaveLength(1);
  expect(check("internal/fleet/jobs/doors.ts", '"svc.job.request"')).toEqual([]);
  expect(check("internal/bus/subjects/subjects.ts", '"svc.job.x.stop.y" "svc.admin.follow.z"')).toEqual([]);
});

test("every operation has a door, a name of its own, and a subject of its own", () => {
  expect(joinedDoors.filter(({ rest, bus }) => rest === undefined && bus === undefined)).toEqual([]);
  const ids = joinedDoors.map(({ id }) => id);
  expect(ids.filter((id, at) => ids.indexOf(id) !== at)).toEqual([]);
  const subjects = joinedDoors.flatMap(({ bus }) => bus?.subject ?? []);
  expect(subjects.filter((one, at) => subjects.indexOf(one) !== at)).toEqual([]);
});
