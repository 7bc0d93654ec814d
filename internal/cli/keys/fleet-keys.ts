import type { Bus } from "../../bus/connection/mod.ts";
import { masterOperations } from "../../fleet/masters/mod.ts";
import type { Masters } from "../fleet-reads.ts";
import { NoMaster, request } from "../request.ts";

/** What one live master reports about its keys. */
export type MasterKeys = { name: string } & Masters["masters"][number]["keys"];

/** What the live masters report, sorted by name; nothing when none answers. @throws SvcError what a master answers */
export async function readMasterKeys(bus: Bus): Promise<MasterKeys[]> {
  try {
    const { masters } = await request(bus, masterOperations.listMasters, {}, { isHasty: true });
    return masters.map(({ name, keys }) => ({ name, ...keys }));
  } catch (thrown) {
    if (thrown instanceof NoMaster) return [];
    throw thrown;
  }
}

/** The peels that a master waits for, as far as they are named. */
export function unconfirmedOf(masters: readonly MasterKeys[]): { named: string[]; count: number } {
  const named = [...new Set(masters.flatMap((one) => one.unconfirmed_peels ?? []))].sort();
  return { named, count: Math.max(named.length, ...masters.map((one) => one.unconfirmed_count ?? 0)) };
}

/** Since when every master issues with the next key of the account, RFC 3339; `undefined` when one does not say. */
export function issuingSince(masters: readonly MasterKeys[]): string | undefined {
  const since = masters.map(({ issues_since }) => issues_since ?? "").sort();
  return since.includes("") ? undefined : since.at(-1);
}
