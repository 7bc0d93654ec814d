import * as v from "valibot";
import { rfc3339 } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { encodePeelId } from "../../base/names/peel-id.ts";
import { described, integer, timestamp, titled } from "../../base/schema.ts";
import type { Bucket } from "../../bus/storage/mod.ts";
import { showHeartbeat as shown, shownHeartbeat } from "../../wire/heartbeat.ts";
import { enrollmentStates } from "../enrollment/record/mod.ts";
import { memberNamed } from "../enrollment/store/mod.ts";
import { operation } from "../operation/mod.ts";
import type { Twins } from "../twins/mod.ts";
import { assertIndexed } from "./assert-indexed.ts";
import { readPeel } from "./heartbeats.ts";
import { pageOfPeels, peelPageFields } from "./page-of-peels.ts";
import { type PeelsDeps, showMember, shownPeel } from "./peel.ts";
import { type SurveyDeps, survey } from "./survey.ts";
import { surveyTrust, type TrustDeps } from "./trust.ts";

export { countFacts } from "./count-facts-operation.ts";
export { getFactsHistory } from "./facts-history-operation.ts";
export { findFacts } from "./find-facts-operation.ts";
export { getFacts } from "./get-facts-operation.ts";

const scope = { kind: "facts", action: "read" } as const;

export const listPeels = operation({
  name: "peels.list",
  kind: "read",
  summary: "List peels, by id",
  description:
    "The members of the fleet, with what the master that answers has in memory. A page can be shorter than `limit`.",
  scope,
  input: v.strictObject(peelPageFields),
  output: v.object({ peels: v.array(shownPeel), next: v.exactOptional(v.string()) }),
  touches: ({ target }) => ({ peels: { expression: target } }),
  async run(deps: PeelsDeps, page, call) {
    const { items: peels, ...next } = await pageOfPeels(deps, page, call, (peelId) => {
      const member = deps.directory.memberOf(peelId);
      return member === undefined ? undefined : showMember(peelId, member, deps);
    });
    return { peels, ...next };
  },
});

export const showPeel = operation({
  name: "peels.show",
  kind: "read",
  summary: "Show a peel",
  scope,
  input: v.strictObject({ id: described(v.string(), "Peel id, with dots or encoded") }),
  output: v.object({ peel: shownPeel }),
  touches: ({ id }) => ({ peel: encodePeelId(id) }),
  async run(deps: PeelsDeps, { id }) {
    const { directory, index } = deps;
    assertIndexed(index);
    await Promise.all([directory.caughtUp(), index.caughtUp({ facts: true, heartbeats: true })]);
    const { peelId, member } = memberNamed(directory, id);
    return { peel: showMember(peelId, member, deps) };
  },
});

const peelId = described(v.string(), "Encoded peel id");

interface HeartbeatDeps {
  peelHeartbeats: Pick<Bucket, "get">;
  /** Absent where no master runs. */
  twins?: Pick<Twins, "of">;
}

const momentOf = (at: number | undefined) => (at === undefined ? undefined : rfc3339(Math.floor(at)));

export const showHeartbeat = operation({
  name: "peels.heartbeat",
  kind: "read",
  summary: "Show the last heartbeat of a peel",
  scope,
  input: v.strictObject({ id: described(v.string(), "Peel id, with dots or encoded") }),
  output: v.object({
    heartbeat: v.exactOptional(
      described(
        v.object({ ...shownHeartbeat, stored_at: described(v.number(), "By the clock of the bus") }),
        "Absent when the peel is not alive",
      ),
    ),
    one_instance_since: v.exactOptional(
      described(
        timestamp,
        "Since when masters saw messages of one process of it alone; absent where it is too old to name its process",
      ),
    ),
    restored_at: v.exactOptional(
      described(timestamp, "When its host was last set back to an earlier state, as by a snapshot"),
    ),
  }),
  touches: ({ id }) => ({ peel: encodePeelId(id) }),
  async run({ peelHeartbeats, twins }: HeartbeatDeps, { id }) {
    const peel = encodePeelId(id);
    const beat = await readPeel(peelHeartbeats, peel);
    const { onlySince, isNamed, restoredAt } = twins?.of(peel) ?? {};
    return {
      ...(beat === undefined ? {} : { heartbeat: { ...shown(beat), stored_at: beat.storedAt } }),
      ...defined({
        one_instance_since: isNamed === true ? momentOf(onlySince) : undefined,
        restored_at: momentOf(restoredAt),
      }),
    };
  },
});

const counted = (schema: v.GenericSchema<string>) => v.record(schema, integer);

export const surveyPeels = operation({
  name: "peels.survey",
  kind: "read",
  summary: "Count the enrollments and peels, and list what needs attention",
  description: "Of a long list the first 5,000 are shown.",
  scope: { kind: "enrollments", action: "list" },
  output: titled(
    "PeelSurvey",
    v.object({
      states: described(counted(v.picklist(enrollmentStates)), "Number of enrollments by state"),
      alive: described(integer, "Number of members with a heartbeat"),
      silent: described(v.array(v.string()), "Peel IDs of the members without one"),
      silent_count: integer,
      versions: described(counted(v.string()), "Number of members that are alive by version"),
      insisting: v.optional(
        described(integer, "Number of members that are alive and obey operators only"),
        0,
      ),
      releases: v.exactOptional(
        described(
          v.array(
            v.object({
              environment: v.string(),
              is_released: described(v.boolean(), "Whether what is in force is the newest release"),
              version: v.exactOptional(described(integer, "Of the newest release")),
              operator: v.exactOptional(described(v.string(), "Who signed it")),
              ends_at: v.exactOptional(described(timestamp, "When the record of this operator ends")),
            }),
          ),
          "The environments of the state files, and how they stand to their newest release",
        ),
      ),
      wrong_clocks: described(
        v.array(v.object({ peel_id: peelId, ahead_ms: v.number() })),
        "Those whose clock differs from that of the bus",
      ),
      refusing: described(
        v.array(v.object({ peel_id: peelId, commands_refused: counted(v.string()) })),
        "Those that refused commands since their start, by reason",
      ),
      full_disks: v.exactOptional(
        described(v.array(v.string()), "Peel IDs of those whose data directory has no room"),
      ),
      without_health: described(
        v.array(v.string()),
        "Peel IDs of those on whose `health_addr` another program listens",
      ),
      suspended: v.array(v.object({ id: v.string(), peel_id: peelId, at: timestamp, reason: v.string() })),
      clones: described(
        v.array(v.object({ id: v.string(), peel_id: peelId, seen_at: timestamp })),
        "Members whose identity two hosts appear to hold",
      ),
      copied: v.exactOptional(
        described(
          v.array(v.object({ id: v.string(), peel_id: peelId, copied_at: timestamp })),
          "Members of which a copy of the host asked to join within a day, with a key of its own",
        ),
      ),
      credentials: described(
        v.object({ ended: integer, within_7_days: integer, within_30_days: integer }),
        "Credentials of members that have ended, or end soon",
      ),
      ending: described(
        v.array(v.object({ peel_id: peelId, ends_at: timestamp })),
        "Whose credentials end within 30 days or have ended, the earliest first",
      ),
    }),
  ),
  run: (deps: SurveyDeps) => survey(deps),
});

const pin = v.pipe(v.string(), v.regex(/^sha256:[0-9a-f]{64}$/, "must be an SPKI pin, sha256:…"));

export const surveyRoots = operation({
  name: "peels.roots",
  kind: "read",
  summary: "Count which roots the peels trust, while one is replaced",
  scope,
  input: v.strictObject({
    current: described(pin, "SPKI pin of the root in force"),
    next: described(pin, "That of the next root"),
  }),
  output: v.object({
    counts: v.object({ both: integer, next_only: integer, current_only: integer, unknown: integer }),
    lacking: described(
      v.array(v.object({ peel_id: peelId, alive: v.boolean(), reason: v.string() })),
      "The members that do not trust the next root; the first 5,000",
    ),
  }),
  run: (deps: TrustDeps, pins) => surveyTrust(deps, pins),
});
