import { namesOf } from "../../../internal/base/names/peel-id.ts";
import { formatProblems, formatWitnesses } from "../../../internal/cli/audit/verify.ts";
import { formatComparison } from "../../../internal/cli/bus/verify.ts";
import { formatContexts } from "../../../internal/cli/context/commands.ts";
import { formatChosen } from "../../../internal/cli/enroll/decide.ts";
import { formatNetworks, formatWays } from "../../../internal/cli/enroll/policy/explain.ts";
import { formatVerdict } from "../../../internal/cli/enroll/policy/test.ts";
import { formatStrays } from "../../../internal/cli/enroll/strays.ts";
import { formatUses } from "../../../internal/cli/enroll/token/show.ts";
import { formatGroups as formatFactGroups } from "../../../internal/cli/facts/count.ts";
import { formatFacts } from "../../../internal/cli/facts/find.ts";
import { formatChanges } from "../../../internal/cli/facts/history.ts";
import { formatItems } from "../../../internal/cli/import/salt.ts";
import { formatPreview } from "../../../internal/cli/job/preview.ts";
import { formatFiles } from "../../../internal/cli/nats-auth/init.ts";
import { formatSteps } from "../../../internal/cli/operators/adopt.ts";
import { formatPeels, usualColumns } from "../../../internal/cli/peels/columns.ts";
import { formatClosed } from "../../../internal/cli/reactor/reset.ts";
import { formatReaction } from "../../../internal/cli/reactor/test.ts";
import { formatRights, formatRoles } from "../../../internal/cli/roles/show.ts";
import { formatExplained } from "../../../internal/cli/settings/explain.ts";
import { formatDrift } from "../../../internal/cli/states/drift.ts";
import { formatReleases } from "../../../internal/cli/states/releases.ts";
import { formatGroups } from "../../../internal/cli/states/status.ts";
import { at, end, fingerprint, idOf, key, many, type Samples } from "./sample.ts";

/** More peels than a fleet has. */
const max = 99_999;
const enr = idOf("enr");
const commit = "c0ffee".repeat(10).slice(0, 40);
const role = (name: string) => ({
  ...{ name, built_in: false },
  jobs: [{ functions: [name], targets: name, environments: [name], commits: "any" as const, approvals: 3 }],
  may: [{ kind: name, action: name, approvals: 0 }],
});

/** What the fleet is, and what is asked of it. */
export const seeingTables: Samples = {
  "peels/columns.ts": (style, name) =>
    formatPeels(
      [true, false].map((alive) => ({
        ...{ id: name, peel_id: name, enrollment_id: enr, state: "active" as const, alive, alive_since: at },
        ...{ silent_since: at, version: "10.20.30-rc.40", os: name, labels: { rack: name, env: name } },
      })),
      usualColumns,
      style,
    ),
  "facts/find.ts": (style, name) =>
    formatFacts(
      ["os", "mounts:/:fstype", "ipv6"],
      [{ peel_id: name, facts: { os: name, ipv6: [name] } }],
      style,
    ),
  "facts/count.ts": (style, name) =>
    formatFactGroups(["os", "osrelease"], [{ peels: many, facts: { os: name, osrelease: [name] } }], style),
  "facts/history.ts": (style, name) =>
    formatChanges([{ at, name, before: name.slice(0, 50), after: [name.slice(0, 50)] }], style),
  "states/releases.ts": (style, name) =>
    formatReleases(
      [
        {
          environment: name,
          newest: {
            ...{ environment: name, snapshot: Buffer.alloc(32, 1), version: max, released_at: at },
            ...{ operator: name, key: name, release: name },
          },
          next_version: max,
          content: { environment: name, commit, snapshot: Buffer.alloc(32, 2) },
          candidate: {
            content: { environment: name, commit, snapshot: Buffer.alloc(32, 3) },
            ...{ since: at, changes: { added: max, changed: max, removed: max } },
          },
        },
      ],
      style,
    ),
  "states/status.ts": (style, name) =>
    formatGroups(
      [
        {
          ...{ environment: name, commit, described: max, drifted: max, failed: max },
          ...{ never: max, stale: max },
        },
      ],
      style,
    ),
  "states/drift.ts": (style, name) =>
    formatDrift(
      [
        {
          ...{ ...namesOf(name), id: name, status: "described" },
          last_run: {
            ...({ run_at: at, trigger: "schedule", status: "drifted", environment: name, commit } as const),
            test: false,
            ...{ ok: 1, changed: many, failed: 1, skipped: 0, would_change: 0, duration_ms: 1 },
          },
          drift: [name, name].map((id) => ({ id, function: "file.managed" })),
        },
      ],
      style,
    ),
  "settings/explain.ts": (style, name) =>
    formatExplained(
      [
        {
          ...{ name, value: name, file: name, line: 12_345, because: name },
          covered: [{ name, value: { a: name }, file: name, line: 1, because: name }],
        },
      ],
      style,
    ),
  "job/preview.ts": (style, name) =>
    formatPreview([{ peel_id: name, alive: true, batch: "10000/10000" }], style),
  "enroll/decide.ts": (style, name) =>
    formatChosen(
      [{ id: enr, peel_id: name }],
      new Map([
        [
          enr,
          {
            ...{ id: enr, peel_id: name, hostname: name, state: "pending", trust: "ok" },
            ...{ created_at: at, fingerprint, evidence: "x509" as const, address: name },
          },
        ],
      ]),
      style,
    ),
  "enroll/strays.ts": (style, name) =>
    formatStrays([{ peel_id: name, bus_public_key: key, refused_at: at }], style),
  "enroll/token/show.ts": (style, name) => formatUses([{ peel_id: name, enrollment: enr, at }], style),
  "enroll/policy/explain.ts": (style, name) =>
    [
      formatWays(
        [
          {
            ...{ kind: "reactor", name, peels: name, decides: "approve", uses: many, expires_at: end },
            ...{ labels: { rack: name }, conditions: name },
          },
        ],
        style,
      ),
      formatNetworks([{ name, cidr: [name], capacity: many, refill: "100ms" }], style),
    ].join("\n"),
  "enroll/policy/test.ts": (style, name) =>
    formatVerdict({ file: name, rules: [{ rule: name, line: 12_345, result: "decides", why: name }] }, style),
  "reactor/test.ts": (style, name) =>
    formatReaction({ rules: [{ rule: name, fires: true, why: name, actions: [] }] }, style),
  "roles/show.ts": (style, name) =>
    [formatRoles([role(name)], name, style), formatRights([role(name)], style)].join("\n"),
  "reactor/reset.ts": (style, name) => formatClosed([name], style),
  "audit/verify.ts": (style, name) =>
    [
      formatProblems([{ seq: 12_345_678, problem: name }], style),
      formatWitnesses([{ peel: name, heads: many, newest: 12_345_678, problem: name }], style),
    ].join("\n"),
  "bus/verify.ts": (style, name) =>
    formatComparison(
      [
        {
          ...{ master: name, logged: many, stored: many, differing: many },
          differences: [{ bucket: "enrollments", key: enr, peel_id: name, problem: "superseded" }],
        },
      ],
      style,
    ),
  "operators/adopt.ts": (style, name) =>
    formatSteps([{ step: "shared credentials", state: "open", detail: name }], style),
  "context/commands.ts": (style, name) =>
    formatContexts([{ context: name, current: true, name, bus_urls: [name] }], style),
  "nats-auth/init.ts": (style, name) =>
    formatFiles([{ file: name, mode: "600", audience: "offline" }], style),
  "import/salt.ts": (style, name) =>
    formatItems([{ about: "configuration", file: name, line: 12_345, problem: name, next: name }], style),
};
