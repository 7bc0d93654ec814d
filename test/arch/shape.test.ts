import { expect, test } from "bun:test";
import { checkNames, checkSize, checkTestImports } from "./shape.ts";
import { lines, readRepository } from "./source.ts";

const repository = readRepository();

test("files are small", () => {
  expect(lines(checkSize(repository))).toEqual([]);
});

test("a file of 501 lines and a main of 26 are found", () => {
  expect(
    lines(
      checkSize([
        { path: "internal/jobs/run.ts", text: "\n".repeat(501) },
        { path: "internal/jobs/start.ts", text: "\n".repeat(500) },
        { path: "cmd/svc/main.ts", text: "\n".repeat(26) },
        { path: "cmd/svc-peel/main.ts", text: "\n".repeat(25) },
      ]),
    ),
  ).toEqual([
    "internal/jobs/run.ts: has 501 lines, 500 are allowed; split it by verb",
    "cmd/svc/main.ts: has 26 lines, 25 are allowed; split it by verb",
  ]);
});

test("production code imports nothing of the tests", () => {
  expect(lines(checkTestImports(repository))).toEqual([]);
});

test("an import of the harness, of a test file and of the test runner is found", () => {
  expect(
    lines(
      checkTestImports([
        { path: "internal/jobs/run.ts", text: 'import "../../test/harness/bus.ts";' },
        { path: "cmd/svc/main.ts", text: 'const run = await import("../../internal/jobs/run.test.ts");' },
        { path: "release/build.ts", text: 'import type { Mock } from "bun:test";' },
        { path: "internal/jobs/run.test.ts", text: 'import "../../test/harness/bus.ts";' },
      ]),
    ),
  ).toEqual([
    "internal/jobs/run.ts: imports test/harness/bus.ts, which is there for tests only",
    "cmd/svc/main.ts: imports internal/jobs/run.test.ts, which is there for tests only",
    "release/build.ts: imports bun:test, which is there for tests only",
  ]);
});

test("files are named in kebab-case, after what they do", () => {
  expect(lines(checkNames(repository))).toEqual([]);
});

test("camel case, snake case and names that say nothing are found", () => {
  const paths = ["internal/jobs/runJob.ts", "test/e2e/run_job.test.ts", "internal/utils/pad.ts"];
  expect(lines(checkNames(paths.map((path) => ({ path, text: "" }))))).toEqual([
    'internal/jobs/runJob.ts: "runJob" is not kebab-case',
    'test/e2e/run_job.test.ts: "run_job" is not kebab-case',
    'internal/utils/pad.ts: "utils" says nothing; name it after what it does',
  ]);
});
