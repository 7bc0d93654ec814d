import * as v from "valibot";
import { decode } from "../../base/msgpack.ts";
import { type Bus, openBucket } from "../../bus/mod.ts";

const count = v.pipe(v.number(), v.safeInteger(), v.minValue(0));
const heartbeat = v.object({
  command_keys: v.optional(v.array(v.string()), []),
  signs_with: v.optional(v.string(), ""),
  keys_problem: v.optional(v.string()),
  unconfirmed_peels: v.optional(v.array(v.string())),
  unconfirmed_count: v.optional(count),
  account_keys: v.optional(v.array(v.string()), []),
  issues_with: v.optional(v.string(), ""),
  issues_since: v.optional(v.string()),
});

/** What one live master reports about its keys; a master of an earlier version reports nothing. */
export type MasterKeys = { name: string } & v.InferOutput<typeof heartbeat>;

/** Reads what the live masters report, sorted by name. @throws SvcError `storage` */
export async function readMasterKeys(bus: Bus): Promise<MasterKeys[]> {
  const bucket = await openBucket(bus, "master-heartbeat");
  const entries = await bucket.entries();
  return entries
    .map(({ key, value }) => ({ name: key, ...v.parse(heartbeat, mapOf(value)) }))
    .sort((one, other) => (one.name < other.name ? -1 : 1));
}

/** Only masters write here; what is not a map is from none. */
function mapOf(value: Uint8Array): unknown {
  try {
    const found = decode(value);
    return v.is(heartbeat, found) ? found : {};
  } catch {
    return {};
  }
}

/** The peels that a master waits for, as far as they are named. */
export function unconfirmedOf(masters: readonly MasterKeys[]): { named: string[]; count: number } {
  const named = [...new Set(masters.flatMap((one) => one.unconfirmed_peels ?? []))].sort();
  return { named, count: Math.max(named.length, ...masters.map((one) => one.unconfirmed_count ?? 0)) };
}
