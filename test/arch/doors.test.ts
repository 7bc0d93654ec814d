import { expect, test } from "bun:test";
import { checkOperations } from "./doors.ts";
import { lines, readRepository } from "./source.ts";

test("doors ask for operations, and for nothing else of a room", () => {
  expect(lines(checkOperations(readRepository()))).toEqual([]);
});

test("a door that reaches past the operations is found", () => {
  const jobs = "internal/fleet/jobs";
  const advice = (room: string) => `ask for an operation of internal/fleet/${room}/operations.ts`;
  expect(
    lines(
      checkOperations([
        {
          path: `${jobs}/mod.ts`,
          text: 'export { dispatchJob } from "./dispatch.ts";\nexport { jobOperations } from "./joined.ts";',
        },
        {
          path: "internal/doors/rest/more.ts",
          text: 'import { jobOperations, dispatchJob } from "../../fleet/jobs/mod.ts";',
        },
        { path: "internal/doors/bus/job.ts", text: 'import type { Job } from "../../fleet/jobs/record.ts";' },
        { path: "internal/doors/bus/more.ts", text: "bus.serve(subject, queue, answer);" },
        { path: "internal/doors/peels/hello.ts", text: "bus.serve(subject, queue, answer);" },
        {
          path: "internal/cli/enroll/approve.ts",
          text: 'import { applyEvent } from "../../fleet/enrollment/store/apply.ts";',
        },
        {
          path: "internal/cli/enroll/list.ts",
          text: 'import { list } from "../../fleet/enrollment/store.ts";',
        },
        {
          path: "internal/fleet/rollout/jobs.ts",
          text: 'import { dispatchJob } from "../jobs/dispatch.ts";',
        },
      ]),
    ),
  ).toEqual([
    `internal/doors/rest/more.ts: takes dispatchJob of ${jobs}/dispatch.ts; read its table, ${jobs}/joined.ts`,
    `internal/doors/bus/job.ts: takes Job of ${jobs}/record.ts; read its table, ${jobs}/joined.ts`,
    "internal/doors/bus/more.ts: serves a subject; bind an operation to it",
    `internal/cli/enroll/approve.ts: takes applyEvent of internal/fleet/enrollment/store/apply.ts; ${advice("enrollment")}`,
  ]);
});
