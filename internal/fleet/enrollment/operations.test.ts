import { describe, expect, test } from "bun:test";
import type * as v from "valibot";
import { memoryBucket } from "../../../test/harness/bucket.ts";
import { manualClock } from "../../../test/harness/clock.ts";
import { recordingLog } from "../../../test/harness/log.ts";
import { invoke } from "../operation/invoke.ts";
import type { Call, Caller, Gate, InputSchema, Operation } from "../operation/operation.ts";
import { createRoleGate } from "../roles/gate.ts";
import { readRoles } from "../roles/read-roles.ts";
import { approveEnrollment, labelEnrollment, rejectEnrollment, revokeEnrollment } from "./operations.ts";
import type { EnrollmentState } from "./record/record.ts";
import { applyEvent } from "./store/apply.ts";
import { insertEnrollment, loadEnrollment } from "./store/store.ts";

const clock = manualClock();
const id = `enr-${"a".repeat(27)}`;

async function stored(state: EnrollmentState) {
  const enrollments = memoryBucket();
  const record = {
    id,
    peelId: "web-1",
    publicKey: "U",
    curvePublicKey: "X",
    state,
    createdAt: 0,
    updatedAt: 0,
  };
  await insertEnrollment(enrollments, record, undefined);
  return { enrollments, clock, revocations: { add: async () => {} } };
}

type Deps = Awaited<ReturnType<typeof stored>>;
const requesting =
  <Input extends InputSchema, Output extends v.GenericSchema>(operation: Operation<Deps, Input, Output>) =>
  (deps: Deps, fields: object, call: Call): Promise<unknown> =>
    invoke(operation, deps, { fields }, call);

const callers: Caller[] = [
  { kind: "operator", name: "ann", door: "rest" },
  { kind: "operator", name: "ann", door: "bus" },
  { kind: "operator", name: "ann", door: "direct" },
  { kind: "reactor", rule: "web", door: "reactor" },
];

describe.each(callers.map((caller) => [caller.door, caller] as const))("asked for over %s", (_, caller) => {
  const operator = caller.kind === "reactor" ? "reactor:web" : "ann";
  const decisions = [
    ["approve", "approved", requesting(approveEnrollment), { id }, "pending"],
    ["reject", "rejected", requesting(rejectEnrollment), { id, reason: "unknown" }, "pending"],
    ["revoke", "revoked", requesting(revokeEnrollment), { id, reason: "sold" }, "approved"],
  ] as const;
  test.each(decisions)(
    "%s is logged in the same words, once",
    async (action, state, submit, fields, before) => {
      const deps = await stored(before);
      const log = recordingLog();
      const noted = {};
      const call = { caller, log, clock, note: (more: object) => void Object.assign(noted, more) };
      const done = submit(deps, fields, call);
      if (caller.kind === "reactor" && action !== "approve") {
        await expect(done).rejects.toMatchObject({ kind: "forbidden" });
        expect((await loadEnrollment(deps.enrollments, id)).record.state).toBe(before);
        return;
      }
      expect(await done).toMatchObject({ enrollment: { id, state, DecidedBy: operator } });
      expect(log.records.filter(({ level }) => level !== "debug")).toEqual([
        {
          level: "info",
          event: `enrollment ${state}`,
          fields: { enrollment_id: id, peel_id: "web-1", operator },
        },
        {
          level: "info",
          event: "enrollment admin operation",
          fields: { action, id, operator, peel_id: "web-1" },
        },
      ]);
      expect(noted).toEqual({ enrollment_id: id });
    },
  );
});

test("a refused decision is logged only as refused", async () => {
  const deps = await stored("approved");
  const log = recordingLog();
  const caller: Caller = { kind: "operator", name: "ann", door: "bus" };
  const done = invoke(approveEnrollment, deps, { fields: { id } }, { caller, requestId: "r", log, clock });
  await expect(done).rejects.toMatchObject({ kind: "invalid_transition" });
  expect(log.records.filter(({ level }) => level !== "debug")).toMatchObject([
    {
      event: "operation refused",
      fields: { enrollment_id: id, operator: "ann", code: "invalid_transition" },
    },
  ]);
});

test.each([true, false])(
  "labels that another sets after the judgement are judged again: %j",
  async (isRace) => {
    const deps = await stored("active");
    const roles = createRoleGate({
      book: () =>
        readRoles("roles: {web: {enrollments: [{do: label, labels: {team: ['*']}}]}}", "roles.yaml").book,
      administrators: () => ["root"],
      ...{ resolve: unused, jobOf: unused, rolloutOf: unused, isNewest: unused },
      async labelsOf() {
        return { labels: (await loadEnrollment(deps.enrollments, id)).record.labels ?? {}, former: {} };
      },
    });
    const gate: Gate = {
      async enter(passenger) {
        await roles.authorize(passenger);
        if (isRace) await applyEvent(deps, id, { type: "label", labels: { quarantine: "yes" } });
        return async () => {};
      },
    };
    const caller: Caller = { kind: "operator", name: "ann", door: "bus", roles: ["web"] };
    const fields = { id, labels: { team: "web" } };
    const done = invoke(labelEnrollment, deps, { fields }, { caller, gate, log: recordingLog(), clock });
    if (isRace) {
      await expect(done).rejects.toThrow(
        "ann (role web) may not do this: no rule allows enrollments label quarantine",
      );
    } else await done;
    expect((await loadEnrollment(deps.enrollments, id)).record.labels).toEqual(
      isRace ? { quarantine: "yes" } : { team: "web" },
    );
  },
);

const unused = () => Promise.reject(new Error("not called"));
