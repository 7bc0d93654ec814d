import { expect, test } from "bun:test";
import { checkDirection, checkFileCycles, checkRoomCycles } from "./rooms.ts";
import { lines, readRepository } from "./source.ts";

const repository = readRepository();

test("imports go down the floors", () => {
  expect(lines(checkDirection(repository))).toEqual([]);
});

test("an import that goes up is found, whatever its form", () => {
  for (const text of [
    'import { serve } from "../http/serve.ts";',
    'import type { Serve } from "../http/serve.ts";',
    'export * from "../http/serve.ts";',
    'export { serve } from "../http/serve.ts";',
    'type Serve = import("../http/serve.ts").Serve;',
    'const serve = await import("../http/serve.ts");',
    "const serve = await import(`../http/serve.ts`);",
    'const serve = require("../http/serve.ts");',
    'const serve = import.meta.require("../http/serve.ts");',
  ]) {
    expect(lines(checkDirection([{ path: "internal/jobs/run.ts", text }]))).toEqual([
      "internal/jobs/run.ts: imports internal/master/doors/http/serve.ts: jobs (floor 3) may not know http (floor 4)",
    ]);
  }
});

test("a room without a floor, a file in no room and an import that leaves the house are found", () => {
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
    "internal/attic/box.ts: the room attic has no floor in test/arch/rooms.ts",
    "internal/stray.ts: stands in no room; move it into one",
    "internal/base/id.ts: imports release/compile.ts, which is in no room",
  ]);
});

test("rooms do not import each other in a circle", () => {
  expect(lines(checkRoomCycles(repository))).toEqual([]);
});

test("a circle of rooms is found where no two files form one", () => {
  const planted = [
    { path: "internal/jobs/run.ts", text: 'import "../facts/read.ts";' },
    { path: "internal/facts/read.ts", text: "" },
    { path: "internal/facts/send.ts", text: 'import type { Job } from "../jobs/job.ts";' },
  ];
  expect(checkFileCycles(planted)).toEqual([]);
  expect(lines(checkRoomCycles(planted))).toEqual([
    "internal/jobs: the rooms import each other: jobs -> facts -> jobs",
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
