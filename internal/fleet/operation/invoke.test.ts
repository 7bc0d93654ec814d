import { expect, test } from "bun:test";
import * as v from "valibot";
import { manualClock } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { SvcError } from "../../base/errors.ts";
import { invoke } from "./invoke.ts";
import { type Caller, operation } from "./operation.ts";

const clock = manualClock();

const rename = operation({
  name: "things.rename",
  kind: "change",
  summary: "Rename a thing",
  admits: ["operator", "reactor"],
  input: v.strictObject({ id: v.string(), name: v.string() }),
  output: v.object({ name: v.string() }),
  touches: ({ id }) => ({ enrollment: id }),
  async run(deps: { failure?: unknown }, { name }) {
    clock.advance(7);
    if (deps.failure !== undefined) throw deps.failure;
    return { name };
  },
});

const ann: Caller = { kind: "operator", name: "ann", door: "bus" };
const fields = { id: "enr-1", name: "new" };

function doing({
  caller = ann,
  failure,
  asked = fields as unknown,
}: {
  caller?: Caller;
  failure?: unknown;
  asked?: unknown;
}) {
  const log = recordingLog();
  const call = { caller, requestId: "r-1", log, clock };
  return { log, done: invoke(rename, { failure }, { fields: asked }, call) };
}

const about = { operation: "things.rename", operator: "ann", door: "bus", request_id: "r-1" };

test("the beginning and the end are recorded with who, what and how long", async () => {
  const { log, done } = doing({});
  expect(await done).toEqual({ name: "new" });
  const touched = { ...about, enrollment_id: "enr-1" };
  expect(log.records).toEqual([
    { level: "debug", event: "operation begins", fields: touched },
    { level: "debug", event: "operation complete", fields: { ...touched, duration_ms: 7 } },
  ]);
});

test.each<[code: string, level: string, failure: Error]>([
  ["not_found", "info", new SvcError("not_found", "no such thing")],
  ["trust_mismatch", "warn", new SvcError("trust_mismatch", "another root")],
  ["internal", "error", new Error("a bug")],
])("a failure is logged at its level and rethrown: %s", async (code, level, failure) => {
  const { log, done } = doing({ failure });
  await expect(done).rejects.toBe(failure);
  expect(log.records.at(-1)).toEqual({
    level,
    event: "operation refused",
    fields: { ...about, enrollment_id: "enr-1", duration_ms: 7, code, reason: failure.message },
  });
});

test("an operation with malformed input does not start", async () => {
  const { log, done } = doing({ asked: { ...fields, nam: 1 } });
  await expect(done).rejects.toThrow('unknown key "nam" (did you mean name?)');
  expect(log.records.map(({ event }) => event)).toEqual(["operation refused"]);
});

test("a caller that the operation does not admit is refused, and a rule is named", async () => {
  const stranger = doing({ caller: { kind: "anonymous", door: "rest" } });
  await expect(stranger.done).rejects.toMatchObject({ kind: "forbidden" });
  expect(stranger.log.records.map(({ event }) => event)).toEqual(["operation refused"]);
  const rule = doing({ caller: { kind: "reactor", rule: "web", door: "reactor" } });
  await rule.done;
  expect(rule.log.records[0]?.fields).toMatchObject({ operator: "reactor:web", door: "reactor" });
});
