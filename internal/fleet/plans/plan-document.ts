import * as v from "valibot";
import { described, integer, plain, plainMap, titled } from "../../base/schema.ts";

// A plan as it is stored, and shown as JSON.

const cause = v.object({
  file: described(v.string(), "A state file, or a settings file below `settings/`"),
  line: described(integer, "Counted from 1"),
  setting: v.exactOptional(described(v.string(), "A setting that differs: `app:port`")),
  before: v.exactOptional(described(plain, "What it is; absent where there is none")),
  after: v.exactOptional(described(plain, "What it would be; absent where there is none")),
});

const change = titled(
  "PlannedChange",
  v.object({
    op: v.picklist(["+", "~", "-"]),
    function: described(v.string(), "State function"),
    id: v.string(),
    name: v.string(),
    before: v.exactOptional(described(plainMap, "Arguments, requisites and conditions now")),
    after: v.exactOptional(described(plainMap, "The same with the change")),
    why: described(v.array(cause), "Where the difference is written"),
  }),
);

const group = titled(
  "PlanGroup",
  v.object({
    count: integer,
    peels: described(v.array(v.string()), "Ids with dots, sorted"),
    changes: v.array(change),
    error: v.exactOptional(described(v.array(v.string()), "Why nothing can be compiled for these peels")),
    unknown: v.exactOptional(
      described(v.array(v.string()), "What keeps the order from being known before it runs"),
    ),
    error_before: v.exactOptional(described(v.array(v.string()), "Why nothing can be compiled now")),
    restarts: v.exactOptional(described(v.array(v.string()), "Services that watch something that changes")),
  }),
);

export const planDocument = titled(
  "Plan",
  v.object({
    id: v.string(),
    created_at: v.string(),
    operator: v.string(),
    target: v.string(),
    environment: v.string(),
    commit: described(v.string(), "Commit of the files; `local` for those of a tree"),
    snapshot: described(v.string(), "Digest of the files"),
    compared_with: v.union([
      v.literal("last run"),
      v.object({ environment: v.string(), commit: v.string(), snapshot: v.string() }),
    ]),
    peels: described(integer, "How many the target means"),
    unchanged: described(integer, "For how many of them nothing changes"),
    causes: described(
      v.array(
        titled(
          "PlanCause",
          v.object({
            ...cause.entries,
            peels: described(integer, "Peels that it changes something for"),
            groups: integer,
          }),
        ),
      ),
      "What makes a difference, with the most peels first",
    ),
    groups: described(v.array(group), "Peels with the same change: errors first, removals, restarts"),
    cannot_be_bound: v.array(v.object({ peel: v.string(), reason: v.string() })),
    notes: described(v.array(v.string()), "What a person should know of it"),
  }),
);

export type PlanDocument = v.InferOutput<typeof planDocument>;
export type PlanGroup = PlanDocument["groups"][number];
export type PlanCause = PlanDocument["causes"][number];
