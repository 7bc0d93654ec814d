import * as v from "valibot";
import { described, titled } from "../../base/schema.ts";
import { shownDiff } from "../../wire/state-diffs.ts";
import { namedStates } from "../../wire/state-report.ts";
import { shownRun } from "./shown-run.ts";
import { statuses } from "./status.ts";

const fields = {
  peel_id: described(v.string(), "Encoded peel id"),
  status: described(v.picklist(statuses), "Whether the peel is as described, from its last run"),
  last_run: v.exactOptional(shownRun),
  failures: v.exactOptional(namedStates.failures),
  drift: v.exactOptional(namedStates.drift),
} as const;

/** A peel of the list of drift. */
export const driftedPeel = titled("DriftedPeel", v.object(fields));
export type DriftedPeel = v.InferOutput<typeof driftedPeel>;

/** What the last run of one peel did, with its differences. */
export const peelStates = titled(
  "PeelStates",
  v.object({
    ...fields,
    diffs: v.exactOptional(
      described(
        v.array(shownDiff),
        "The states that failed, changed or would change, with their differences; absent after 7 days",
      ),
    ),
  }),
);
export type PeelStates = v.InferOutput<typeof peelStates>;
