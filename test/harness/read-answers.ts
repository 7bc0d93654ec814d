import type { ExpectDescribed } from "./api-text.ts";
import { bearer, call } from "./enrollee.ts";
import type { ManualPeel } from "./manual-peel.ts";
import type { TestMaster } from "./master.ts";

const pin = `sha256:${"0".repeat(64)}`;

/**
 * Requests what `svc` shows of a fleet, with a token that may read it and one that may not.
 *
 * @param enrollmentId of the peel, which is alive
 * @param other a token whose role reads none of it
 */
export async function checkReadAnswers(
  master: TestMaster,
  { peel, enrollmentId, other }: { peel: ManualPeel; enrollmentId: string; other: string },
  expectDescribed: ExpectDescribed,
): Promise<void> {
  const headers = bearer;
  const get = (path: string) => call(master, { path: `/api/v1/${path}`, headers });
  const reads = {
    showEnrollment: `enrollments/${enrollmentId}`,
    listStrays: "enrollments/strays",
    showHeartbeat: `peels/${peel.peelId}/heartbeat`,
    surveyPeels: "fleet/survey",
    surveyRoots: `fleet/roots?current=${pin}&next=${pin}`,
    exportInventory: "inventory?facts=os&facts=kernel",
    lintBus: "cluster/lint",
    adoptionStatus: "adoption",
    showAdministrators: "administrators",
    readChain: "audit/stored?from=1",
    listEvents: "events/list?since=1h&limit=3",
    probeStorage: "masters/probe",
    readSamples: "samples?period=30d",
    listDependents: "keys/dependents?issued_before=2026-01-01T00:00:00Z",
    verifyDecisions: "decisions",
  };
  for (const [name, path] of Object.entries(reads)) {
    await expectDescribed(name, get(path), 200);
    const refused = call(master, { path: `/api/v1/${path}`, headers: { authorization: `Bearer ${other}` } });
    await expectDescribed(name, refused, 403);
  }
  await expectDescribed("whoAmI", get("whoami"), 200);
  await expectDescribed("showEnrollment", get("enrollments/enr-0"), 404);
  await expectDescribed("showEnrollment", get(`enrollments/${enrollmentId}?peel=web-1`), 400);
  await expectDescribed("surveyRoots", get(`fleet/roots?current=${pin}&next=none`), 400);
  await expectDescribed("readSamples", get("samples?period=1y"), 400);
}
