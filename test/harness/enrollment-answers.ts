import { systemRandom } from "../../internal/base/id.ts";
import { decode, encode, type Plain } from "../../internal/base/msgpack.ts";
import { openBucket } from "../../internal/bus/storage/bucket.ts";
import { decodeRecord, encodeRecord } from "../../internal/fleet/enrollment/record/record.ts";
import { newKeyPair } from "../../internal/identity/nkey.ts";
import type { ExpectDescribed } from "./api-text.ts";
import { connectTo, type TestBus } from "./bus.ts";

import {
  bearer,
  call,
  decide,
  enrollNew,
  enrollOnce,
  getCreds,
  getNonce,
  getStatus,
  newEnrollee,
  postJson,
} from "./enrollee.ts";
import type { TestMaster } from "./master.ts";
import { enrollPeel } from "./peel-connection.ts";
import { byKey, keyOf, recoverOver } from "./renewal.ts";
import { vouchersOf } from "./vouchers.ts";

/** Asks for every answer of the routes by which hosts enroll and operators decide about them. */
export async function checkEnrollmentAnswers(
  bus: TestBus,
  master: TestMaster,
  expectDescribed: ExpectDescribed,
): Promise<void> {
  const peel = newEnrollee();
  await expectDescribed("getChallenge", getNonce(master, peel), 200);
  await expectDescribed("getChallenge", call(master, { path: "/api/v1/enroll/nonce" }), 400);
  const more = { hostname: "web-1", metadata: { rack: { row: 3 } } };
  const made = await expectDescribed("enroll", enrollOnce(master, peel, more), 201);
  const { id } = made.json as { id: string };
  await expectDescribed("enroll", enrollOnce(master, newEnrollee(peel.peelId)), 200);
  await expectDescribed("enroll", postJson(master, "/api/v1/enroll", {}), 400);
  await expectDescribed("enroll", call(master, { method: "POST", path: "/api/v1/enroll", body: "{}" }), 415);
  await expectDescribed("enroll", postJson(master, "/api/v1/enroll", { x: "y".repeat(5000) }), 413);
  await expectDescribed("getEnrollmentState", getStatus(master, id), 200);
  await expectDescribed("getEnrollmentState", getStatus(master, "enr-x"), 404);
  await expectDescribed("downloadCredentials", getCreds(master, peel, id), 403);
  await expectDescribed("downloadCredentials", getCreds(master, newEnrollee(), id), 401);
  await expectDescribed("approveEnrollment", decide(master, "approve", id), 200);
  await expectDescribed("approveEnrollment", decide(master, "approve", id), 409);
  await expectDescribed("downloadCredentials", getCreds(master, peel, id), 200);
  await expectDescribed("enroll", enrollOnce(master, newEnrollee(peel.peelId)), 409);
  const list = (query: string) => call(master, { path: `/api/v1/enrollments${query}`, headers: bearer });
  await expectDescribed("listEnrollments", list("?state=all"), 200);
  await expectDescribed("listEnrollments", list("?limit=0"), 400);
  await expectDescribed("listEnrollments", call(master, { path: "/api/v1/enrollments" }), 401);
  const enrolled = await enrollPeel(master, "lost-1");
  const { publicKey: next } = newKeyPair("user", systemRandom);
  await expectDescribed("recoverCredentials", recoverOver(master, enrolled, next), 200);
  await expectDescribed("recoverCredentials", recoverOver(master, enrolled, "U"), 400);
  const own = keyOf(enrolled);
  await expectDescribed("findEnrollmentOfKey", byKey(master, own.publicKey, own), 200);
  await expectDescribed("findEnrollmentOfKey", byKey(master, next, own), 401);
  await expectDescribed("clearClone", decide(master, "clear-clone", enrolled.enrollmentId), 409);
  const direct = await connectTo(bus, "direct");
  const records = await openBucket(direct, "enrollments");
  const held = decodeRecord((await records.get(enrolled.enrollmentId))?.value ?? new Uint8Array());
  const marked = vouchersOf(bus).mark({ ...held, cloneSuspected: true, cloneSeenAt: held.updatedAt });
  await records.put(enrolled.enrollmentId, encodeRecord(marked));
  await direct.drain();
  await expectDescribed("clearClone", decide(master, "clear-clone", enrolled.enrollmentId), 200);
  const labelled = {
    method: "PUT",
    path: `/api/v1/enrollments/${id}/labels`,
    headers: { ...bearer, "content-type": "application/json" },
  };
  const labels = (body: unknown) => call(master, { ...labelled, body: JSON.stringify(body) });
  await expectDescribed("labelEnrollment", labels({ labels: { env: "lab" } }), 200);
  await expectDescribed("labelEnrollment", labels({ labels: { Env: "lab" } }), 400);
  await expectDescribed("labelEnrollment", labels({ labels: {}, expected: {} }), 409);
  await expectDescribed("suspendEnrollment", decide(master, "suspend", id, { reason: "loud" }), 200);
  await expectDescribed("resumeEnrollment", decide(master, "resume", id), 200);
  await expectDescribed("revokeEnrollment", decide(master, "revoke", id, { reason: "sold" }), 200);
  const other = await enrollNew(master, newEnrollee());
  await expectDescribed("rejectEnrollment", decide(master, "reject", other, { reason: "unknown" }), 200);
  await expectDescribed("rejectEnrollment", decide(master, "reject", "enr-x"), 404);
  const repair = (path: string) =>
    call(master, { method: "POST", path: `/api/v1/enrollments/${path}`, headers: bearer });
  await expectDescribed("restoreEnrollment", repair(`${other}/restore`), 409);
  await expectDescribed("restoreEnrollment", repair("enr-x/restore"), 404);
  const connection = await connectTo(bus, "direct");
  const enrollments = await openBucket(connection, "enrollments");
  const record = decode((await enrollments.get(other))?.value ?? new Uint8Array());
  await enrollments.put(other, encode({ ...(record as Record<string, Plain>), hostname: "forged" }));
  await connection.drain();
  await expectDescribed("restoreEnrollment", repair(`${other}/restore`), 200);
  const ca = await expectDescribed("getBootstrapDocument", call(master, { path: "/api/v1/enroll/ca" }), 200);
  const headers = { "if-none-match": String(ca.headers.etag) };
  await expectDescribed("getBootstrapDocument", call(master, { path: "/api/v1/enroll/ca", headers }), 304);
  await expectDescribed("getSuccession", call(master, { path: "/api/v1/enroll/succession" }), 200);
}
