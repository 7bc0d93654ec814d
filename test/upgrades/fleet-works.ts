import { expect } from "bun:test";
import { encodePeelId } from "../../internal/base/names/peel-id.ts";
import type { Program } from "../harness/process.ts";
import type { TwoVersions, Version } from "./two-versions.ts";

const versions: readonly Version[] = ["earlier", "current"];

interface Listed {
  id: string;
  peel_id: string;
  state: string;
}

/** Starts a peel that is new to the fleet, approves it, and waits until it is connected. */
export async function admit(fleet: TwoVersions, id: string, version: Version): Promise<Program> {
  const peel = await fleet.startPeel(id, version);
  await peel.waitFor("waiting for an operator's approval");
  const enrollment = await enrollmentOf(fleet, version, id);
  expect(await fleet.svc(version, "enroll", "approve", enrollment)).toMatchObject({ code: 0 });
  await peel.waitFor("peel connected");
  return peel;
}

/** The enrollments of a fleet, as `svc` of a version lists them. */
async function listEnrollments(fleet: TwoVersions, version: Version): Promise<Listed[]> {
  const listed = await fleet.svc(version, "enroll", "list", "--state", "all", "--output", "json");
  expect(listed).toMatchObject({ code: 0 });
  return JSON.parse(listed.stdout);
}

/** Runs a function on all peels. @returns the outcome of each peel */
export async function runOnAll(
  fleet: TwoVersions,
  version: Version,
  ...call: string[]
): Promise<Record<string, string>> {
  const ran = await fleet.svc(version, "run", "*", ...call, "--output", "json");
  const { outcomes } = JSON.parse(ran.stdout || "{}") as { outcomes?: Record<string, string> };
  if (outcomes === undefined) throw new Error(`svc run printed no outcomes: ${ran.stdout}${ran.stderr}`);
  return outcomes;
}

/**
 * Tries what operators do every day, with `svc` of both versions: to list enrollments, to run a function on all
 * peels, to admit a new one, and to revoke it.
 */
export async function expectWorking(fleet: TwoVersions, step: string, members: readonly string[]) {
  const ok = (ids: readonly string[]) => Object.fromEntries(ids.map((id) => [encodePeelId(id), "ok"]));
  for (const version of versions) {
    const guest = `${step}-${version}`;
    const before = await listEnrollments(fleet, version);
    expect(before.filter(({ state }) => state === "active").map(({ peel_id }) => peel_id)).toEqual(
      expect.arrayContaining(members.map(encodePeelId)),
    );
    expect(await runOnAll(fleet, version, "test.ping")).toEqual(ok(members));
    const peel = await admit(fleet, guest, version);
    expect(await runOnAll(fleet, version, "test.ping")).toEqual(ok([...members, guest]));
    const id = await enrollmentOf(fleet, version, guest);
    expect(await fleet.svc(version, "enroll", "revoke", id)).toMatchObject({ code: 0 });
    // Peels of the earlier version only say that the bus refuses them.
    await peel.waitFor(version === "current" ? /revoked/ : /AUTHORIZATION_VIOLATION|Authentication Revoked/);
    expect(await runOnAll(fleet, version, "test.ping")).toEqual(ok(members));
    await fleet.stopPeel(guest);
  }
}

/** The ID of a peel's enrollment. */
export async function enrollmentOf(fleet: TwoVersions, version: Version, peel: string): Promise<string> {
  const found = (await listEnrollments(fleet, version)).find(({ peel_id }) => peel_id === encodePeelId(peel));
  if (found === undefined) throw new Error(`no enrollment of ${peel}`);
  return found.id;
}
