import { namesOf } from "../../../internal/base/names/peel-id.ts";
import { formatApprovals } from "../../../internal/cli/approval/list.ts";
import { formatExpected } from "../../../internal/cli/enroll/expected/commands.ts";
import { formatEnrollments } from "../../../internal/cli/enroll/list.ts";
import { formatJoinTokens } from "../../../internal/cli/enroll/token/list.ts";
import { formatJobs } from "../../../internal/cli/job/list-table.ts";
import { formatWaves } from "../../../internal/cli/rollout/format.ts";
import { formatRollouts } from "../../../internal/cli/rollout/list.ts";
import { formatStatus } from "../../../internal/cli/status/show.ts";
import { formatPeels } from "../../../internal/cli/upgrade/print-end.ts";
import { at, counts, end, fingerprint, idOf, ids, key, many, type Samples } from "./sample.ts";

const [enr = "", job = "", rol = ""] = ["enr", "job", "rol"].map(idOf);
const content = { environment: "base", commit: "90aa51c2d7e8".repeat(3), snapshot: Buffer.alloc(32) };
const summary = { function: "postgres_privileges.present", targets: 10_000, created_at: at, content };

/** Hosts, and what was done with them. */
export const hostTables: Samples = {
  "enroll/list.ts": (style, name) =>
    formatEnrollments(
      [
        {
          ...{ id: enr, peel_id: name, hostname: name, state: "approved", trust: "MISMATCH!" },
          ...{ created_at: at, fingerprint, evidence: "x509" },
        },
      ],
      style,
    ),
  "enroll/token/list.ts": (style, name) =>
    formatJoinTokens(
      ids("jtk").map((id) => ({
        ...{ id, state: "used up", peel: name, uses: 10_000, uses_left: 10_000, labels: {}, hold: true },
        ...{ note: name, created_by: name, created_at: at, expires_at: end },
      })),
      style,
    ),
  "enroll/expected/commands.ts": (style, name) =>
    formatExpected(
      [
        {
          ...{ peel_id: name, public_key: key, fingerprint, state: "ended", labels: { a: name } },
          ...{ expected_by: name, expected_at: at, expires_at: end, enrollment: enr },
        },
      ],
      style,
    ),
  "approval/list.ts": (style, name) =>
    formatApprovals(
      ids("apr").map((id) => ({
        ...{ id, operation: "enrollments.clear-clone", about: name, state: "waiting", asked_by: name },
        ...{ needs: 10, asked_at: at, expires_at: end, agreed: [name], rule: name },
      })),
      style,
    ),
  "upgrade/print-end.ts": (style, name) =>
    formatPeels(
      [{ ...namesOf(name), outcome: "cancelled", version: name, previous: name, reason: name }],
      style,
    ),
  "status/show.ts": (style, name) =>
    formatStatus(
      {
        peels: {
          ...{ states: {}, alive: many, silent: [name], silent_count: 1, versions: {} },
          wrong_clocks: [{ ...namesOf(name), ahead_ms: many }],
          refusing: [{ ...namesOf(name), commands_refused: { expired: many, unknown_key: many } }],
          full_disks: [name],
          without_health: [name],
          insisting: 0,
        },
        pending: [
          {
            ...{ id: enr, ...namesOf(name), hostname: name, state: "pending", trust: "MISMATCH!" },
            ...{ created_at: at, fingerprint },
          },
        ],
        suspended: [{ id: enr, ...namesOf(name), at, reason: name }],
        clones: [{ id: enr, ...namesOf(name), seen_at: at }],
        copied: [{ id: enr, ...namesOf(name), copied_at: at }],
        credentials: { ended: many, within_7_days: 0, within_30_days: 0 },
        strays: [{ ...namesOf(name), bus_public_key: key, refused_at: at }],
        jobs: [{ ...summary, jid: job, deadline: end }],
        candidates: [
          {
            ...{ environment: name, since: at, changes: { added: many, changed: many, removed: many } },
            content: { environment: name, commit: "4f1c2aa90b1d".repeat(3), snapshot: Buffer.alloc(32, 1) },
          },
        ],
        rollouts: [
          {
            ...{ ...summary, id: rol, status: "paused", wave: 100, waves: 100 },
            failures: many,
            created_by: name,
          },
        ],
        masters: [],
        leases: [{ name: "rollouts", holder: name, token: 1, since: at }],
        ending: [{ what: name, ends_at: end }],
        files: {
          publisher: name,
          environments: [{ content: { ...content, environment: name }, since: at }],
          report: {
            refused: [
              {
                ...{ environment: name, reason: name },
                problems: [{ file: name, line: 12_345, column: 1, reason: name }],
              },
              { remote: name, ref: name, reason: name },
            ],
            hints: [
              { ...content, environment: name, hints: [{ file: name, line: 1, column: 1, reason: name }] },
            ],
          },
        },
        not_shown: [],
        notes: [],
      },
      style,
    ),
  "job/list-table.ts": (style, name) =>
    formatJobs(
      ["cancelled" as const, "completed" as const].map((status) => ({
        ...{ ...summary, jid: job, args_text: name, target: name, status, counts, created_by: name },
      })),
      style,
    ),
  "rollout/list.ts": (style, name) =>
    formatRollouts(
      [
        {
          ...{ ...summary, id: rol, target: name, status: "completed", wave: 100, waves: 100 },
          ...{ failures: 10_000, created_by: name },
        },
      ],
      style,
    ),
  "rollout/format.ts": (style, name) =>
    formatWaves(
      [{ peels: Array(9).fill(name), jid: job, counts, gone: 5, check_jid: job, check_counts: counts }],
      style,
    ),
};
