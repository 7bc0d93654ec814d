import * as v from "valibot";
import { defined } from "../../base/defined.ts";
import { described, integer, timestamp, titled } from "../../base/schema.ts";
import type { Bucket, Bus } from "../../bus/mod.ts";
import { operation } from "../operation/mod.ts";
import { readLeases, readMasters } from "./heartbeats.ts";
import { askMasterReadiness, readinesses } from "./readiness.ts";

/** What the operation on masters needs. */
export interface MastersDeps {
  bus: Bus;
  /** The buckets `master-heartbeat` and `leases`. */
  heartbeats: Pick<Bucket, "entries">;
  leases: Pick<Bucket, "entries">;
  /** How many rollouts each master drives, by its name. */
  driven(): ReadonlyMap<string, number>;
  /** Of this master. */
  self: string;
}

const master = titled(
  "Master",
  v.object({
    name: v.string(),
    hostname: v.string(),
    version: v.string(),
    since: described(timestamp, "When it started"),
    answers: described(v.boolean(), "Whether it is the one that answers this request"),
    readiness: described(
      v.picklist(readinesses),
      "What it says of itself when it is asked now; `silent` is one that does not answer, whatever its heartbeat says",
    ),
    reason: v.exactOptional(described(v.string(), "Why it is anything but `up`")),
    leases: described(v.array(v.string()), "The leases that it holds: each has one holder"),
    rollouts: described(integer, "How many rollouts it drives"),
    certificate_ends_at: v.exactOptional(timestamp),
  }),
);
const lease = v.object({
  name: v.string(),
  holder: described(v.string(), "Name of a master; it may have ended within the last 15 s"),
  token: described(integer, "Grows with every holder"),
  since: v.exactOptional(timestamp),
});

export const listMasters = operation({
  name: "masters.list",
  kind: "read",
  summary: "List the live masters, how each is, and what it does alone",
  description:
    "Each of them is asked for its own readiness at this moment. One that ended is listed until its heartbeat expires, for 15 s at most.",
  admits: ["operator"],
  scope: { kind: "masters", action: "read" },
  input: v.strictObject({}),
  output: v.object({ masters: v.array(master), leases: v.array(lease) }),
  touches: () => ({ fleet: true }),
  async run({ bus, heartbeats, leases, driven, self }: MastersDeps) {
    const [beats, held] = await Promise.all([readMasters(heartbeats), readLeases(leases)]);
    const rollouts = driven();
    const masters = await Promise.all(
      beats.map(async ({ name, hostname, version, started_at, certificate_ends_at }) => ({
        ...{ name, hostname, version, since: started_at, answers: name === self },
        ...(await askMasterReadiness(bus, name)),
        leases: held.filter(({ holder }) => holder === name).map((one) => one.name),
        rollouts: rollouts.get(name) ?? 0,
        ...defined({ certificate_ends_at }),
      })),
    );
    return { masters, leases: held };
  },
});
