import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { decode, encode } from "../../internal/base/msgpack.ts";
import type { Bus } from "../../internal/bus/connection/connect.ts";
import { auditDoors } from "../../internal/fleet/audit/doors.ts";
import { enrollmentDoors } from "../../internal/fleet/enrollment/doors.ts";
import { operatorLimits } from "../../internal/fleet/requests/operator-budgets.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import { startMaster, type TestMaster } from "../harness/master.ts";
import { newOperator, registryOf, requestAs, signedBy } from "../harness/operators.ts";
import { submitPeel } from "../harness/peel-connection.ts";

// One signed request that decides on many enrollments.

setDefaultTimeout(60_000);

const ann = newOperator("ann");
let bus: TestBus;
let owner: Bus;
let master: TestMaster;

beforeAll(async () => {
  bus = await startBus();
  const config = { operators: { require_signed: true } };
  master = await startMaster(bus, { operatorLimits, operators: registryOf(ann), config });
  owner = await connectTo(bus, "master");
});
afterAll(async () => {
  await owner?.nats.close();
  await master?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

async function send(subject: string, fields: Record<string, unknown>) {
  const envelope = signedBy(ann, subject, encode(fields as never));
  return Object(decode(await requestAs(owner, ann, subject, envelope)));
}
const approve = (fields: Record<string, unknown>) =>
  send(enrollmentDoors.approveEnrollment.bus.subject, fields);

test("each id is decided, answered and recorded by itself, in one request of the budget", async () => {
  const made = await Promise.all(["web-1", "web-2"].map((id) => submitPeel(master, id)));
  const [first = "", second = ""] = made.map(({ enrollmentId }) => enrollmentId);
  const nobody = "enr-3MPFSICSuHM6n9ASVzK0s68GQu3";
  const { ok, results } = await approve({ ids: [second, nobody, first] });
  expect(ok).toBe(true);
  expect(results).toEqual([
    { id: second, ok: true, enrollment: expect.objectContaining({ id: second, state: "approved" }) },
    { id: nobody, ok: false, error: { code: "not_found", message: expect.any(String) } },
    { id: first, ok: true, enrollment: expect.objectContaining({ id: first, state: "approved" }) },
  ]);
  // Once more: each is refused by itself.
  expect(await approve({ ids: [first, second] })).toMatchObject({
    ok: true,
    results: [
      { id: first, ok: false, error: { code: "invalid_transition" } },
      { id: second, ok: false, error: { code: "invalid_transition" } },
    ],
  });
  const { entries } = await send(auditDoors.listAudit.bus.subject, { action: "enrollments.approve" });
  const recorded = (entries as { outcome: string; subjects: { enrollment?: string } }[])
    .filter(({ outcome }) => outcome === "done")
    .map(({ subjects }) => subjects.enrollment);
  expect(recorded.sort()).toEqual([first, second].sort());
});

test("500 ids are one request, and more are refused", async () => {
  const ids = Array.from({ length: 500 }, (_, at) => `enr-${`${at}`.padStart(27, "0")}`);
  const { results } = await approve({ ids });
  expect(results.map(({ id }: { id: string }) => id)).toEqual(ids);
  const refused = { ok: false, error: { code: "bad_request", message: expect.stringContaining("ids") } };
  expect(await approve({ ids: [...ids, "enr-1"] })).toEqual(refused);
  expect(await approve({ ids, id: "enr-1" })).toEqual(refused);
  expect(await approve({ ids: [] })).toEqual(refused);
});
