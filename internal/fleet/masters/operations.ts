import * as v from "valibot";
import { defined } from "../../base/defined.ts";
import { described, integer, timestamp, titled } from "../../base/schema.ts";
import type { Probed } from "../../bus/assets/mod.ts";
import type { Bus } from "../../bus/connection/mod.ts";
import type { Bucket } from "../../bus/storage/mod.ts";
import { operation } from "../operation/mod.ts";
import { limitedSource, masterKeys, readLeases, readMasters } from "./heartbeats.ts";
import { probe } from "./probe.ts";
import { type MasterReadiness, readinesses } from "./readiness.ts";

/** What the list of masters needs. */
export interface MastersDeps {
  /** Asks a master for its own readiness. */
  requestReadiness(name: string): Promise<MasterReadiness>;
  /** The buckets `master-heartbeat` and `leases`. */
  heartbeats: Pick<Bucket, "entries">;
  leases: Pick<Bucket, "entries">;
  /** How many rollouts each master drives, by its name. */
  driven(): ReadonlyMap<string, number>;
  /** Of this master. */
  self: string;
}

/** What the probe of storage needs. */
export interface ProbeDeps {
  bus: Bus;
  /** Where these credentials may store a value that means nothing. */
  probed: Probed;
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
      "What it reports about itself now; `silent` if it does not answer, whatever its heartbeat says",
    ),
    reason: v.exactOptional(described(v.string(), "Why it is anything but `up`")),
    next: v.exactOptional(described(v.string(), "What to do about that")),
    leases: described(v.array(v.string()), "The leases that it holds: each has one holder"),
    rollouts: described(integer, "How many rollouts it drives"),
    certificate_ends_at: v.exactOptional(timestamp),
    ca_spki: v.exactOptional(described(v.string(), "SPKI pin of the root that it presents")),
    ca_next_spki: v.exactOptional(described(v.string(), "That of the next root, while it is replaced")),
    ca_phase: v.exactOptional(described(v.string(), "How far that is")),
    recovery_window_ms: v.exactOptional(
      described(v.number(), "How long after the end of its credentials a peel may recover them"),
    ),
    health: v.exactOptional(
      described(v.literal("off"), "Present while another program listens on its `health_addr`"),
    ),
    bus_restarts: v.exactOptional(
      described(integer, "How often it started the bus again that it runs, since it started"),
    ),
    bus_restarted_at: v.exactOptional(described(timestamp, "When last")),
    limited: v.exactOptional(
      described(
        v.pipe(v.array(limitedSource), v.readonly()),
        "The sources whose requests to enroll or to sign in, or whose connections, it refuses most, first",
      ),
    ),
    keys: described(masterKeys, "The public keys that it signs and issues with, and what they wait for"),
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
    "Each master reports its own readiness at this moment. A master that ended is listed until its heartbeat expires, for 15 s at most.",
  scope: { kind: "masters", action: "read" },
  output: v.object({ masters: v.array(master), leases: v.array(lease) }),
  async run({ requestReadiness, heartbeats, leases, driven, self }: MastersDeps) {
    // Without the bucket of leases the masters are not ready, and say why: that is worth more than an error.
    const [beats, held] = await Promise.all([readMasters(heartbeats), readLeases(leases).catch(() => [])]);
    const rollouts = driven();
    const masters = await Promise.all(
      beats.map(async (beat) => ({
        ...{ name: beat.key, hostname: beat.hostname, version: beat.version, since: beat.started_at },
        answers: beat.key === self,
        ...(await requestReadiness(beat.key)),
        leases: held.filter(({ holder }) => holder === beat.key).map((one) => one.name),
        rollouts: rollouts.get(beat.key) ?? 0,
        ...defined({
          certificate_ends_at: beat.certificate_ends_at,
          ca_spki: beat.ca_spki,
          ca_next_spki: beat.ca_next_spki,
          ca_phase: beat.ca_phase,
          recovery_window_ms: beat.recovery_window_ms,
          health: beat.health,
          bus_restarts: beat.bus_restarts,
          bus_restarted_at: beat.bus_restarted_at,
          limited: beat.limited,
        }),
        keys: v.parse(masterKeys, beat),
      })),
    );
    return { masters, leases: held };
  },
});

export const probeStorage = operation({
  name: "masters.probe",
  kind: "read",
  summary: "See whether the storage of the bus takes and returns values",
  description: "Measured by the master that answers, over its own connection. It stores nothing else.",
  scope: { kind: "masters", action: "read" },
  output: titled(
    "StorageProbe",
    v.object({
      missing: described(v.array(v.string()), "Buckets and streams that do not exist yet"),
      count: described(integer, "How many there should be"),
      problem: v.exactOptional(described(v.string(), "Why a value could not be written and read")),
      full: v.exactOptional(
        described(
          v.object({ message: v.string(), refuses: v.boolean() }),
          "The fullest of those near their limit",
        ),
      ),
      replicas: described(integer, "Largest number of replicas among them"),
      stored_at: v.exactOptional(
        described(v.number(), "When the bus stored that value, milliseconds by its clock"),
      ),
    }),
  ),
  run: ({ bus, probed }: ProbeDeps) => probe(bus, probed),
});
