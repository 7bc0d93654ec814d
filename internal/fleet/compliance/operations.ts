import * as v from "valibot";
import type { Clock } from "../../base/clock.ts";
import { defined } from "../../base/defined.ts";
import { SvcError } from "../../base/errors.ts";
import { encodePeelId, isPeelId } from "../../base/names/peel-id.ts";
import { described } from "../../base/schema.ts";
import type { Bucket } from "../../bus/storage/mod.ts";
import { areOf, decodeDiffs, type StateDiff } from "../../wire/state-diffs.ts";
import { type Directory, memberNamed } from "../enrollment/store/mod.ts";
import { limitField, operation } from "../operation/mod.ts";
import type { Resolver } from "../targeting/mod.ts";
import { countByFiles, countsFields, groupFields, maxGroups } from "./count.ts";
import { type DriftedPeel, driftedPeel, peelStates } from "./shown-peel.ts";
import { lastRun } from "./shown-run.ts";
import { readStale, staleField } from "./stale.ts";
import { statuses, statusOf } from "./status.ts";
import type { ComplianceView } from "./view.ts";

/** What a master answers from; only differences are read from the bus. */
export interface ComplianceDeps {
  directory: Pick<Directory, "caughtUp" | "members" | "memberOf" | "stateOf">;
  resolver: Pick<Resolver, "resolve">;
  compliance: Pick<ComplianceView, "runOf" | "caughtUp" | "running">;
  /** The bucket `compliance-diffs`. */
  diffs: Pick<Bucket, "get">;
  clock: Pick<Clock, "now">;
}

/** The same, at a door whose answers have a limit. */
/** Peels on one page, at most. */
export const maxDrifting = 1_000;
const scope = { kind: "states", action: "read" } as const;
const targetField = v.optional(
  described(v.string(), "Which peels, as an expression: `web*`, `G@os:linux`"),
  "*",
);

export const countStates = operation({
  name: "states.status",
  kind: "read",
  summary: "Count peels by what their last state runs did",
  description:
    "By environment, commit and digest of the files of the last run, from the memory of the master that answers. Peels that never reported a run have none of them.",
  scope,
  input: v.strictObject({ target: targetField, stale: staleField }),
  output: v.object({
    counts: v.object(countsFields),
    groups: v.pipe(v.array(groupFields), v.description(`The ${maxGroups} largest groups`)),
    groups_left_out: v.exactOptional(described(v.number(), "Groups that are counted and not listed")),
  }),
  touches: ({ target }) => ({ peels: { expression: target } }),
  async run(deps: ComplianceDeps, { target, stale }) {
    const staleMs = readStale(stale);
    const found = await resolveKnown(deps, target);
    return countByFiles(found.map(deps.compliance.runOf), deps.clock.now(), staleMs);
  },
});

export const listDrift = operation({
  name: "states.drift",
  kind: "read",
  summary: "List the peels that are not as described",
  description:
    "By default those whose last run failed, changed something, or would change something. A page can be shorter than `limit`.",
  scope,
  input: v.strictObject({
    target: targetField,
    stale: staleField,
    status: v.optional(described(v.picklist(statuses), "Only peels with this status")),
    limit: limitField(maxDrifting),
    cursor: v.optional(
      described(
        v.pipe(v.string(), v.check(isPeelId, "must be the value that the previous page returned")),
        "Where the page starts, from the previous page",
      ),
    ),
  }),
  output: v.object({
    peels: v.array(driftedPeel),
    next: v.exactOptional(v.string()),
  }),
  touches: ({ target }) => ({ peels: { expression: target } }),
  async run(
    deps: ComplianceDeps,
    { target, stale, status, limit, cursor = "" },
    { answerBytes = Number.POSITIVE_INFINITY },
  ) {
    const staleMs = readStale(stale);
    const found = await resolveKnown(deps, target);
    const now = deps.clock.now();
    const peels: DriftedPeel[] = [];
    let bytes = 0;
    for (const peelId of found) {
      if (peelId <= cursor) continue;
      const known = deps.compliance.runOf(peelId);
      const is = statusOf(known, now, staleMs);
      if (status === undefined ? is !== "failed" && is !== "drifted" : is !== status) continue;
      const { failures, drift } = known?.report ?? {};
      const shown = {
        ...{ peel_id: peelId, status: is },
        ...(known === undefined ? {} : { last_run: lastRun(known, now, staleMs) }),
        ...defined({ failures, drift }),
      };
      bytes += Buffer.byteLength(JSON.stringify(shown));
      const last = peels.at(-1);
      if (last !== undefined && (peels.length === limit || bytes > answerBytes)) {
        return { peels, next: last.peel_id };
      }
      peels.push(shown);
    }
    return { peels };
  },
});

export const showStates = operation({
  name: "states.show",
  kind: "read",
  summary: "Show what the last state run of a peel did",
  scope,
  input: v.strictObject({
    id: described(v.string(), "Peel id, with dots or encoded"),
    stale: staleField,
  }),
  output: v.object({
    peel: peelStates,
  }),
  touches: ({ id }) => ({ peel: encodePeelId(id) }),
  async run(deps: ComplianceDeps, { id, stale }) {
    const staleMs = readStale(stale);
    const { directory, compliance } = deps;
    assertRead(compliance);
    await Promise.all([directory.caughtUp(), compliance.caughtUp()]);
    const { peelId } = memberNamed(directory, id);
    const now = deps.clock.now();
    const known = compliance.runOf(peelId);
    const peel = { peel_id: peelId, status: statusOf(known, now, staleMs) };
    if (known === undefined) return { peel };
    const { failures, drift } = known.report;
    const diffs = await diffsOf(deps, peelId, known.report);
    return {
      peel: {
        ...peel,
        ...{ last_run: lastRun(known, now, staleMs), failures, drift },
        ...defined({ diffs }),
      },
    };
  },
});

/** The peels of a target, when what is known of them is complete. */
async function resolveKnown({ resolver, compliance }: ComplianceDeps, expression: string): Promise<string[]> {
  assertRead(compliance);
  const [found] = await Promise.all([resolver.resolve({ expression }), compliance.caughtUp()]);
  return [...found];
}

/** The differences of this run; `undefined` when the stored ones belong to another, or cannot be read. */
async function diffsOf(
  { diffs }: ComplianceDeps,
  peelId: string,
  report: Parameters<typeof areOf>[1],
): Promise<StateDiff[] | undefined> {
  const entry = await diffs.get(peelId);
  if (entry === undefined) return undefined;
  try {
    const found = decodeDiffs(entry.value);
    return areOf(found, report) ? found.states : undefined;
  } catch {
    return undefined;
  }
}

/** A part of what is stored would look like peels that never ran states. @throws SvcError `unavailable` */
function assertRead({ running }: Pick<ComplianceView, "running">): void {
  if (running) return;
  throw new SvcError("unavailable", "the state runs are not read completely yet: ask again in a few seconds");
}
