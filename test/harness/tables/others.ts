import { namesOf } from "../../../internal/base/names/peel-id.ts";
import { formatEntries } from "../../../internal/cli/audit/list.ts";
import { formatBackup, formatDecisions } from "../../../internal/cli/bus/format.ts";
import { formatLint } from "../../../internal/cli/bus/lint.ts";
import { formatSurvey } from "../../../internal/cli/ca/rotate/format.ts";
import { formatDifferences } from "../../../internal/cli/cluster/check.ts";
import { formatStatus as formatClusterStatus } from "../../../internal/cli/cluster/status.ts";
import { formatKeys } from "../../../internal/cli/keys/status.ts";
import { formatOperators } from "../../../internal/cli/operators/list.ts";
import { formatRules } from "../../../internal/cli/reactor/rules.ts";
import { formatStatus as formatReactor } from "../../../internal/cli/reactor/status.ts";
import { formatTokens } from "../../../internal/cli/token/list.ts";
import { at, end, ids, key, many, type Samples } from "./sample.ts";

/** Who may do what, and the programs themselves. */
export const otherTables: Samples = {
  "bus/lint.ts": (style, name) =>
    formatLint(
      {
        changed: [{ stream: name, consumer: name, fields: [name, "max_bytes"] }],
        foreign: [{ stream: name, name, delivers_to: name, created: at }],
      },
      style,
    ),
  "cluster/check.ts": (style, name) =>
    formatDifferences([{ stream: name, server: name, message: name }], style),
  "cluster/status.ts": (style, name) =>
    formatClusterStatus(
      {
        ...{ clustered: true, leader: "bus-1", wanted_replicas: 3, problems: [] },
        members: [
          {
            ...{ server: name, version: "2.15.1", state: "missing", leads_group: false },
            ...{ leads: 99, stores: 99, lag: many, stored_bytes: 1.5 * 1024 ** 4, max_bytes: 10 * 1024 ** 4 },
          },
        ],
        streams: [
          {
            ...{ stream: name, leader: name, replicas: 3, bytes: 1.5 * 1024 ** 4, servers: [name, name] },
            behind: [{ server: name, lag: many }],
          },
        ],
        sites: [
          {
            ...{ site: name, state: "cut off", urls: [`tls://${name}:4222`], peels: 99, server: name },
            ...{ round_trip_ms: 100.5, cut_off_ms: 60_000 },
          },
        ],
      },
      style,
    ),
  "audit/list.ts": (style, name) =>
    formatEntries(
      [
        {
          ...{ seq: 12_345_678, at, master: name, operator: name, key, via: "console", action: name },
          ...{ subjects: { peel: name }, outcome: "refused", reason: name, request_id: "r" },
          ...{ request_digest: "0", key_of_master: key, genuine: false },
        },
      ],
      style,
    ),
  "operators/list.ts": (style, name) =>
    formatOperators(
      [
        {
          ...{ name, public_key: key, roles: [name], state: "disabled", administrator: false },
          expires_at: end,
        },
      ],
      style,
    ),
  "token/list.ts": (style, name) =>
    formatTokens(
      ids("tok").map((id) => ({
        ...{ id, name, roles: [name], state: "orphaned", created_by: name, created_at: at },
        ...{ expires_at: end, last_used_at: at },
      })),
      style,
    ),
  "reactor/rules.ts": (style, name) =>
    formatRules(
      [
        {
          ...{ name, match: [name], source: "peel", when: [name], actions: [name], unsafe: true },
          ...{ file: name, line: 12_345, fired: many, last_fired_at: at, breaker_open_until: end },
        },
      ],
      style,
    ),
  "reactor/status.ts": (style, name) =>
    formatReactor(
      {
        ...{ master: "m", since: at, directory: "d", files: 1, rules: 1, digest: "0" },
        breakers: [{ rule: name, opened_at: at, open_until: end }],
        sources: [{ name, running: true, waiting: many, in_hand: many }],
      },
      style,
    ),
  "bus/format.ts": (style, name) => {
    const decision = { bucket: "enrollments", key: "enr-1", peel_id: name, peel: name, was: "missing" };
    const backup = formatBackup({ streams: [{ name, bytes: many * many }] }, style);
    return `${backup}\n\n${formatDecisions([decision], style)}`;
  },
  "ca/rotate/format.ts": (style, name) =>
    formatSurvey(
      "",
      {
        masters: [{ name, phase: "announced", knows_next: true }],
        peels: { both: many, next_only: many, current_only: many, unknown: many },
        sites: [{ site: name, reason: name }],
        lacking: [{ ...namesOf(name), alive: true, reason: name }],
      },
      style,
    ),
  "keys/status.ts": (style, name) =>
    formatKeys(
      {
        keys: [{ key: name, public_key: key, holder: name, since: at, depends: name }],
        command: { phase: "none", unconfirmed: [name], unconfirmed_count: 1 },
        account: { phase: "none", dependents: [] },
        settings: { phase: "waiting", reason: name },
        masters: [
          {
            ...{
              name,
              command_keys: [key],
              account_keys: [key],
              signs_with: key,
              issues_with: key,
              settings_keys: [key],
            },
          },
        ],
        ...{ peels: many, notes: [] },
      },
      style,
    ),
};
