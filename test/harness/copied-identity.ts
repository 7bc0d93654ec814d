import { cpSync } from "node:fs";
import { join } from "node:path";
import type { TestBus } from "./bus.ts";
import { freshAddress } from "./client.ts";
import { type MasterDaemon, svc } from "./fleet.ts";
import { startMember } from "./jobs.ts";
import { startRelay } from "./relay.ts";

/** Enrolls a peel, and copies its identity. Neither of the two runs afterwards. */
export async function copyIdentity(
  bus: TestBus,
  master: MasterDaemon,
  peelId: string,
): Promise<{ original: string; copy: string }> {
  // Masters limit the enrollments of one address.
  await using relay = await startRelay(Number(new URL(master.url).port), freshAddress());
  const peel = await startMember(bus, { ...master, url: `https://localhost:${relay.port}` }, peelId);
  await peel[Symbol.asyncDispose]();
  const copy = join(bus.dir, `copy-of-${peelId}`);
  cpSync(join(peel.dir, "auth"), join(copy, "auth"), { recursive: true });
  return { original: peel.dir, copy };
}

interface ShownEnrollment {
  id: string;
  state: string;
  trust: string;
}

/** The enrollment of a peel, as `svc enroll list` shows it. */
export async function enrollmentOf(bus: TestBus, peelId: string): Promise<ShownEnrollment> {
  const { stdout } = await svc(bus, "enroll", "list", "--state", "all", "--output", "json");
  const list = JSON.parse(stdout) as (ShownEnrollment & { peel_id: string })[];
  const found = list.find(({ peel_id }) => peel_id === peelId.replaceAll(".", "_"));
  if (found === undefined) throw new Error(`no enrollment of ${peelId}`);
  return found;
}

/** How often the credentials of a peel were renewed. */
export async function renewalsOf(bus: TestBus, peelId: string): Promise<number> {
  const { id } = await enrollmentOf(bus, peelId);
  const { stdout } = await svc(bus, "enroll", "show", id, "--output", "json");
  return JSON.parse(stdout).renewals ?? 0;
}
