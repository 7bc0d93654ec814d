import { expect, test } from "bun:test";
import { rooms } from "./house.ts";
import { checkDirection, checkDoors, checkFileCycles, checkFloors, checkRoomCycles } from "./rooms.ts";
import { lines, readRepository } from "./source.ts";

const repository = readRepository();

const floor = (room: string) => `${room} (floor ${rooms.get(room)?.floor})`;

test("imports go down the floors", () => {
  expect(lines(checkDirection(repository))).toEqual([]);
});

test("an import that goes up is found, whatever its form", () => {
  for (const text of [
    'import { serve } from "../../doors/rest/serve.ts";',
    'import type { Serve } from "../../doors/rest/serve.ts";',
    'export * from "../../doors/rest/serve.ts";',
    'export { serve } from "../../doors/rest/serve.ts";',
    'type Serve = import("../../doors/rest/serve.ts").Serve;',
    'const serve = await import("../../doors/rest/serve.ts");',
    "const serve = await import(`../../doors/rest/serve.ts`);",
    'const serve = require("../../doors/rest/serve.ts");',
    'const serve = import.meta.require("../../doors/rest/serve.ts");',
  ]) {
    expect(lines(checkDirection([{ path: "internal/fleet/jobs/run.ts", text }]))).toEqual([
      `internal/fleet/jobs/run.ts: imports internal/doors/rest/serve.ts: ${floor("fleet/jobs")} may not import ${floor("doors/rest")}`,
    ]);
  }
});

test("a room that the house does not know, a file in no room and an import that leaves the house are found", () => {
  expect(
    lines(
      checkDirection([
        { path: "internal/attic/box.ts", text: "" },
        { path: "internal/stray.ts", text: "" },
        { path: "internal/base/id.ts", text: 'import "../../release/compile.ts";' },
        { path: "internal/base/version.ts", text: 'import manifest from "../../package.json";' },
      ]),
    ),
  ).toEqual([
    "internal/attic/box.ts: stands in no room of test/arch/house.ts; move it into one",
    "internal/stray.ts: stands in no room of test/arch/house.ts; move it into one",
    "internal/base/id.ts: imports release/compile.ts, which is in no room",
  ]);
});

test("a wing that stands higher is out of reach, whatever the floors say", () => {
  const planted = [{ path: "internal/tree/run/run.ts", text: 'import "../../fleet/enrollment/record.ts";' }];
  expect(lines(checkDirection(planted))).toEqual([
    `internal/tree/run/run.ts: imports internal/fleet/enrollment/record.ts: ${floor("tree/run")} may not import ${floor("fleet/enrollment")}`,
  ]);
});

test("a wing that another one does without is found, although it stands below", () => {
  const planted = [{ path: "internal/agent/link/link.ts", text: 'import "../../fleet/jobs/mod.ts";' }];
  expect(lines(checkDirection(planted))).toEqual([
    `internal/agent/link/link.ts: imports internal/fleet/jobs/mod.ts: ${floor("agent/link")} may not import ${floor("fleet/jobs")}`,
  ]);
});

test("every room stands on the floor that its imports demand", () => {
  expect(lines(checkFloors(repository))).toEqual([]);
});

test("a room that stands too high, and one without a file, are found", () => {
  const planted = lines(checkFloors([{ path: "internal/cli/run.ts", text: 'import "../base/log.ts";' }]));
  expect(planted).toContain(
    `internal/cli: stands on floor ${rooms.get("cli")?.floor}; its imports put it on 2`,
  );
  expect(planted).toContain("internal/fleet/jobs: is a room without a file");
});

test("a room is entered by its door", () => {
  expect(lines(checkDoors(repository))).toEqual([]);
});

test("an import past the door of a room is found; a library has none, and a table of doors may be read", () => {
  const text =
    'import "../fleet/jobs/mod.ts";\nimport "../fleet/jobs/record.ts";\nimport "../fleet/jobs/doors.ts";\nimport "../base/log.ts";\nimport "./tree.ts";';
  expect(lines(checkDoors([{ path: "internal/cli/run.ts", text }]))).toEqual([
    "internal/cli/run.ts: imports internal/fleet/jobs/record.ts; the door of fleet/jobs is internal/fleet/jobs/mod.ts",
  ]);
});

test("rooms do not import each other in a circle", () => {
  expect(lines(checkRoomCycles(repository))).toEqual([]);
});

test("a circle of rooms is found where no two files form one", () => {
  const planted = [
    { path: "internal/fleet/jobs/run.ts", text: 'import "../settings/read.ts";' },
    { path: "internal/tree/settings/read.ts", text: "" },
    { path: "internal/fleet/settings/send.ts", text: 'import type { Job } from "../jobs/job.ts";' },
  ];
  expect(checkFileCycles(planted)).toEqual([]);
  expect(lines(checkRoomCycles(planted))).toEqual([
    "internal/fleet/jobs: the rooms import each other: fleet/jobs -> fleet/settings -> fleet/jobs",
  ]);
});

test("files do not import each other in a circle", () => {
  expect(lines(checkFileCycles(repository))).toEqual([]);
});

test("a circle of files is found through type-only and dynamic imports", () => {
  expect(
    lines(
      checkFileCycles([
        { path: "internal/jobs/a.ts", text: 'import "./b.ts";' },
        { path: "internal/jobs/b.ts", text: 'import type { C } from "./c.ts";' },
        { path: "internal/jobs/c.ts", text: 'const a = () => import("./a.ts");' },
      ]),
    ),
  ).toEqual([
    "internal/jobs/a.ts: the files import each other: internal/jobs/a.ts -> internal/jobs/b.ts -> internal/jobs/c.ts -> internal/jobs/a.ts",
  ]);
});
