import { expect, test } from "bun:test";
import { checkDoors } from "./doors.ts";
import { lines, readRepository } from "./source.ts";

test("doors ask for operations, and decide nothing themselves", () => {
  expect(lines(checkDoors(readRepository()))).toEqual([]);
});

test("a door that reaches past the operations is found", () => {
  expect(
    lines(
      checkDoors([
        {
          path: "internal/master/doors/http/job-routes.ts",
          text: 'import { dispatchJob } from "../jobs/dispatch.ts";',
        },
        {
          path: "internal/master/doors/http/enroll-routes.ts",
          text: 'import "../enrollment/operations.ts";',
        },
        { path: "internal/master/doors/bus/job.ts", text: 'import type { Job } from "../jobs/record.ts";' },
        { path: "internal/admin/more.ts", text: "bus.serve(subject, queue, answer);" },
        { path: "internal/master/doors/peels/hello.ts", text: "bus.serve(subject, queue, answer);" },
        { path: "internal/cli/enroll/approve.ts", text: 'import "../../enrollment/approve.ts";' },
        { path: "internal/cli/enroll/list.ts", text: 'import "../../enrollment/store.ts";' },
        { path: "internal/fleet/rollout/jobs.ts", text: 'import "../jobs/dispatch.ts";' },
      ]),
    ),
  ).toEqual([
    "internal/master/doors/http/job-routes.ts: imports internal/fleet/jobs/dispatch.ts; ask for an operation of internal/fleet/jobs/operations.ts",
    "internal/master/doors/bus/job.ts: imports internal/fleet/jobs/record.ts; ask for an operation of internal/fleet/jobs/operations.ts",
    "internal/admin/more.ts: serves a subject; bind an operation to it",
    "internal/cli/enroll/approve.ts: imports internal/fleet/enrollment/approve.ts; ask for an operation of internal/fleet/enrollment/operations.ts",
  ]);
});
