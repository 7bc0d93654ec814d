import { expect, test } from "bun:test";
import { sentencesOf } from "./sentences.ts";

const until = "2026-01-02T00:00:00.000Z";

test("a job is said with its target, its peels, and a line for each argument", () => {
  expect(
    sentencesOf({
      ...{ by: "ann", what: "svc.job.request", peels: 3, until, signedAt: Date.UTC(2026, 0, 1) },
      request: {
        target: "web-*",
        function: "cmd.run",
        args: { command: "id", timeout: "5" },
        timeout: "60s",
      },
    }),
  ).toEqual([
    `ann wants to run cmd.run on 3 peels (target web-*), signed at 2026-01-01T00:00:00.000Z; others can agree until ${until}`,
    "  argument command: id",
    '  argument timeout: "5"',
    "  timeout: 60s",
  ]);
});

test.each([
  ["svc.rollout.start", { function: "state.apply" }, "roll out state.apply on 1 peel"],
  ["svc.admin.enroll.revoke", {}, "do enroll revoke on 1 peel"],
  ["enrollments.revoke", {}, "do enrollments revoke on 1 peel"],
])("%s with %j", (what, request, does) => {
  const [line] = sentencesOf({ by: "ann", what, request, peels: 1, until });
  expect(line).toBe(`ann wants to ${does}; others can agree until ${until}`);
});

test("no value looks like another line, or hides a part of itself", () => {
  const request = {
    function: "test.echo",
    args: { a: "x\n  argument b: y", b: "id\u202e", c: "", d: "true", e: [1] },
  };
  expect(sentencesOf({ by: "ann", what: "jobs.create", request, until }).slice(1)).toEqual([
    '  argument a: "x\\n  argument b: y"',
    "  argument b: id\\u202e",
    '  argument c: ""',
    '  argument d: "true"',
    "  argument e: [1]",
  ]);
});
