import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { decode, encode } from "../../internal/base/msgpack.ts";
import type { Bus } from "../../internal/bus/connection/connect.ts";
import { openBucket } from "../../internal/bus/storage/bucket.ts";
import { enrollmentDoors } from "../../internal/fleet/enrollment/doors.ts";
import { insertEnrollment } from "../../internal/fleet/enrollment/store/store.ts";
import { targetDoors } from "../../internal/fleet/targeting/doors.ts";
import { connectTo, startBus, type TestBus } from "../harness/bus.ts";
import { costlyFacts, costlyTarget } from "../harness/costly-target.ts";
import { type MasterDaemon, startMasterBinary } from "../harness/fleet.ts";
import { vouchersOf } from "../harness/vouchers.ts";

// Targets that cost a master as much as they may, over peels whose facts make them cost more. The master has a process
// of its own: what it computes does not delay the requests.

setDefaultTimeout(60_000);

let bus: TestBus;
let daemon: MasterDaemon;
let stored: Bus;
let operator: Bus;

beforeAll(async () => {
  bus = await startBus();
  daemon = await startMasterBinary(bus);
  stored = await connectTo(bus, "master");
  operator = await connectTo(bus, "admin");
  const enrollments = { ...(await openBucket(stored, "enrollments")), vouchers: vouchersOf(bus) };
  const facts = await openBucket(stored, "facts");
  for (const [at, peelId] of ["web-1", "web-2"].entries()) {
    const id = `enr-${`${at}`.padStart(27, "0")}`;
    const keys = { publicKey: "U", curvePublicKey: "X" };
    const times = { createdAt: 1_000, updatedAt: 1_000 };
    await insertEnrollment(enrollments, { id, peelId, ...keys, ...times, state: "active" }, undefined);
    await facts.put(peelId, encode(costlyFacts));
  }
});
afterAll(async () => {
  await operator?.drain();
  await stored?.drain();
  await daemon?.[Symbol.asyncDispose]();
  await bus?.[Symbol.asyncDispose]();
});

async function send(subject: string, fields: Record<string, unknown>) {
  const request = encode({ ...fields, operator: "tester" });
  return decode((await operator.nats.request(subject, request, { timeout: 50_000 })).data);
}
const resolve = (target: string) => send(targetDoors.resolveTarget.bus.subject, { target });
const refusal = (message: string) => ({
  ok: false,
  error: { code: "bad_request", message: expect.stringContaining(message) },
});

test("a target is refused before it is compiled, or when its expressions are too large", async () => {
  expect(await resolve("E@web or G@os:debian")).toMatchObject({ ok: true, total: 2 });
  expect(await resolve(Array(255).fill("E@\\pL{999}").join(" or "))).toEqual(
    refusal("more than 32 regular expressions"),
  );
  expect(await resolve("E@\\pL{999}")).toEqual(refusal("repeats a part 999 times"));
  expect(await resolve("E@(\\pL{10}){100}")).toEqual(refusal("repeats a part 1000 times"));
  expect(await resolve(Array(65).fill("web*").join(" or "))).toEqual(refusal("more than 64 matchers"));
});

test("six costly targets at once are refused, and whoever asks meanwhile is answered before", async () => {
  const answered: string[] = [];
  const noted = async <T>(name: string, answer: Promise<T>): Promise<T> => {
    const value = await answer;
    answered.push(name);
    return value;
  };
  const refused = Array.from({ length: 6 }, () => noted("costly", resolve(costlyTarget)));
  // Requests of one connection arrive in their order.
  const others = [
    noted("administrator", send(enrollmentDoors.listEnrollments.bus.subject, {})),
    noted("administrator", resolve("G@os:Debian and not E@db")),
  ];
  expect(await Promise.all(others)).toMatchObject([{ ok: true }, { ok: true, total: 2 }]);
  expect(answered).toEqual(["administrator", "administrator"]);
  for (const answer of await Promise.all(refused)) {
    expect(answer).toEqual(refusal('the target costs too much: after "P@long:.*a.{90}'));
  }
  expect(daemon.program.output()).not.toContain('"lease lost"');
  expect(await resolve("web-1")).toMatchObject({ ok: true, total: 1 });
});
