import { expect, test } from "bun:test";
import * as v from "valibot";
import { manualClock } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { SvcError } from "../../base/errors.ts";
import { invoke } from "./invoke.ts";
import { type Caller, type Ending, operation, type Passenger } from "./operation.ts";

const clock = manualClock();

const rename = operation({
  name: "things.rename",
  kind: "change",
  summary: "Rename a thing",
  admits: ["operator", "reactor"],
  scope: { kind: "enrollments", action: "approve" },
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
  raw = fields as unknown,
}: {
  caller?: Caller;
  failure?: unknown;
  raw?: unknown;
}) {
  const log = recordingLog();
  const call = { caller, requestId: "r-1", log, clock };
  return { log, done: invoke(rename, { failure }, { fields: raw }, call) };
}

const about = { operation: "things.rename", operator: "ann", door: "bus", request_id: "r-1" };

test("the beginning and the end are recorded with caller, operation and duration", async () => {
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
  const { log, done } = doing({ raw: { ...fields, nam: 1 } });
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

/** A gate that writes down what it sees. */
function gateOf(refusal?: Error) {
  const seen: unknown[] = [];
  return {
    seen,
    async enter({ operation, scope, caller }: Passenger) {
      seen.push([operation, scope, caller.kind]);
      if (refusal !== undefined) throw refusal;
      return async (ending: Ending) => void seen.push(ending.outcome);
    },
  };
}

test.each<[string, unknown, Error | undefined, string[]]>([
  ["what it lets pass has an end", undefined, undefined, ["done"]],
  ["what fails has an end", new Error("broken"), undefined, ["failed"]],
  ["what it refuses does not run", new Error("never reached"), new SvcError("forbidden", "not ann"), []],
])("the gate sees each request that is well formed: %s", async (_, failure, refusal, endings) => {
  const gate = gateOf(refusal);
  const call = { caller: ann, log: recordingLog(), clock, gate };
  const done = invoke(rename, { failure }, { fields }, call);
  if (endings[0] === "done") expect(await done).toEqual({ name: "new" });
  else await expect(done).rejects.toBe((refusal ?? failure) as Error);
  expect(gate.seen).toEqual([["things.rename", rename.scope, "operator"], ...endings]);
  await expect(invoke(rename, {}, { fields: { id: 1 } }, call)).rejects.toMatchObject({
    kind: "bad_request",
  });
  expect(gate.seen).toHaveLength(1 + endings.length);
});

test("an operation gets the peels that the gate fixed, and no others", async () => {
  const seen: unknown[] = [];
  const run: typeof rename.run = async (_, { name }, { peels }) => {
    seen.push(peels);
    return { name };
  };
  const gate = {
    async enter({ fix, requestId }: Passenger) {
      if (requestId === "r-1") fix?.(["web-1"]);
      return async () => {};
    },
  };
  for (const requestId of ["r-1", "r-2"]) {
    const call = { caller: ann, requestId, log: recordingLog(), clock, gate };
    await invoke({ ...rename, run }, {}, { fields }, call);
  }
  expect(seen).toEqual([["web-1"], undefined]);
});

test.each(["public", "self"] as const)("the gate does not see an operation that is %s", async (scope) => {
  const gate = gateOf(new Error("never reached"));
  const open = operation({ ...rename, scope });
  await invoke(open, {}, { fields }, { caller: ann, log: recordingLog(), clock, gate });
  expect(gate.seen).toEqual([]);
});
