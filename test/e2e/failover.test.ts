import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { enrollPeel } from "../../internal/agent/joining/enroll.ts";
import { createMasterClient } from "../../internal/agent/joining/master-client.ts";
import { CredentialsGone } from "../../internal/agent/joining/refusal.ts";
import { type Clock, systemClock } from "../../internal/base/clock.ts";
import { systemRandom } from "../../internal/base/id.ts";
import { newKeyPair } from "../../internal/identity/nkey.ts";
import { createTrust } from "../../internal/identity/trust/anchor.ts";
import { startBus, type TestBus } from "../harness/bus.ts";
import { freshAddress, send } from "../harness/client.ts";
import { type Front, type Moment, type Step, startFront } from "../harness/front.ts";
import { startMaster, type TestMaster } from "../harness/master.ts";
import { connectPeel, observedLog, operate } from "../harness/peel-connection.ts";

// A peel knows two masters and the first one dies, before or after any step of the enrollment.

let bus: TestBus;
let masters: [TestMaster, TestMaster];

beforeAll(async () => {
  bus = await startBus();
  masters = [await startMaster(bus), await startMaster(bus)];
});
afterAll(async () => {
  for (const master of masters ?? []) await master[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

/** The machine's clock at eight times the speed: the peel's pauses are long and not under test here. */
const hurriedClock: Clock = {
  now: systemClock.now,
  monotonic: () => systemClock.monotonic() * 8,
  after: (ms, run) => systemClock.after(ms / 8, run),
  every: (ms, run) => systemClock.every(ms / 8, run),
};

/** Enrolls a peel that knows these doors, in this order; `onPending` is told the enrollment. */
function enroll(peelId: string, fronts: readonly Front[], onPending: (id: string) => void) {
  const log = observedLog();
  const signal = new AbortController().signal;
  const shared = { clock: hurriedClock, jitter: () => 0, log, signal };
  const trust = createTrust({
    ...shared,
    rung: { rung: 1, ca: { path: bus.caFile, pem: bus.caPem } },
    storeAnchor: () => {},
  });
  const client = createMasterClient({ ...shared, urls: fronts.map(({ url }) => url), trust });
  void log.logged("enrollment pending: waiting for an operator's approval").then(({ fields }) => {
    onPending(String(fields.enrollment_id));
  });
  return enrollPeel({
    ...shared,
    masters: client,
    peelId,
    key: newKeyPair("user", systemRandom),
    hostname: "test",
    metadata: {},
  });
}

async function stateOf(master: TestMaster, id: string) {
  const path = `/api/v1/enroll/${id}/status`;
  return (await send(master.url, master.ca, { path, from: freshAddress() })).json;
}

const steps: Step[] = ["nonce", "enroll", "stream", "creds"];
const moments: Moment[] = ["before", "lost", "after"];
const meaning = {
  before: "before it has the request",
  lost: "with its answer on the way",
  after: "after its answer",
};
const cases = steps.flatMap((step) => moments.map((moment) => ({ step, moment, when: meaning[moment] })));

describe("the first master dies", () => {
  test.concurrent.each(cases)("at the step $step, $when", async ({ step, moment }) => {
    await using dying = await startFront(bus, masters[0], { step, moment });
    await using standing = await startFront(bus, masters[1]);
    const peelId = `peel-${step}-${moment}`;
    let id = "";
    const outcome = await enroll(peelId, [dying, standing], async (pending) => {
      id = pending;
      if (step === "stream") await dying.dead;
      await operate(masters[1], pending, "approve");
    }).catch((thrown: Error) => thrown);

    expect(dying.seen).toContain(step);
    if (step === "creds" && moment === "lost") {
      // The credentials were issued once, and are lost: the daemon recovers them.
      expect(outcome).toBeInstanceOf(CredentialsGone);
      expect(outcome).toMatchObject({ enrollmentId: id });
      expect(await stateOf(masters[0], id)).toMatchObject({ state: "issued" });
      return;
    }
    if (outcome instanceof Error) throw outcome;
    expect(outcome.enrollmentId).toBe(id);
    if (step !== "creds" || moment !== "after") expect(standing.seen).toContain("creds");
    await using connection = await connectPeel(bus, { peelId, credentials: outcome.credentials });
    await connection.nats.flush();
    expect(outcome.commandKeys).toHaveLength(1);
    expect(await stateOf(masters[0], id)).toMatchObject({ state: "issued" });
  });

  test("each of them serves any step: a peel that is sent elsewhere with every request enrolls", async () => {
    await using one = await startFront(bus, masters[0], { step: "nonce", moment: "after" });
    await using two = await startFront(bus, masters[1], { step: "enroll", moment: "after" });
    await using three = await startFront(bus, masters[0], { step: "stream", moment: "after" });
    await using four = await startFront(bus, masters[1]);
    const enrolled = await enroll("peel-everywhere", [one, two, three, four], async (id) => {
      await three.dead;
      await operate(masters[0], id, "approve");
    });
    expect([one.seen, two.seen, three.seen[0]]).toEqual([["nonce"], ["enroll"], "stream"]);
    expect(enrolled.credentials).toContain("BEGIN");
  });
});
