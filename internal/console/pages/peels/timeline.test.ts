import { expect, test } from "bun:test";
import { timelineOf } from "./timeline.ts";

const at = (hour: number) => new Date(Date.UTC(2026, 2, 1, hour)).toISOString();
const peel = { enrollment_id: "enr-1" };

test("jobs, states, facts and the enrollment are on one axis, newest first", () => {
  const found = timelineOf({
    id: "web-1",
    peel: {
      ...peel,
      silent_since: at(9),
      last_run: { run_at: at(7), status: "drifted", environment: "base", commit: "0123456789abcdef" },
    },
    jobs: [
      { jid: "job-1", function: "cmd.run", status: "failed", created_at: at(8), created_by: "ann" },
      {
        jid: "job-2",
        function: "state.apply",
        status: "failed",
        outcome: "ok",
        created_at: at(6),
        created_by: "bob",
      },
    ],
    changes: [
      ...["os", "osrelease", "kernel", "host", "domain"].map((name) => ({ at: at(5), name })),
      { at: at(4), name: "ipv4" },
    ],
    enrollment: { created_at: at(1), decided_at: at(2), activated_at: at(3), revoked_at: undefined },
  });
  expect(found.map(({ lane, word, said, to }) => [lane, word, said, to])).toEqual([
    ["Enrollment", "silent", "its last heartbeat", "/peels/web-1"],
    ["Jobs", "failed", "cmd.run by ann", "/jobs/job-1"],
    ["States", "drifted", "the last run of the states, of base at 0123456789ab", "/peels/web-1/states"],
    ["States", "ok", "state.apply by bob", "/jobs/job-2/web-1"],
    ["Facts", "changed", "os, osrelease, kernel, host and 1 more", "/peels/web-1/facts"],
    ["Facts", "changed", "ipv4", "/peels/web-1/facts"],
    ["Enrollment", "active", "it connected for the first time", "/enrollments/enr-1"],
    ["Enrollment", "decided", "the request was decided", "/enrollments/enr-1"],
    ["Enrollment", "asked", "the host asked to join", "/enrollments/enr-1"],
  ]);
});

test("what may not be read is left out, and so is a time that none is", () => {
  expect(timelineOf({ id: "web-1", peel })).toEqual([]);
  expect(timelineOf({ id: "web-1", peel, enrollment: { created_at: "soon", decided_at: 5 } })).toEqual([]);
});
