import { expect, test } from "bun:test";
import type { JudgedMasters } from "./judge-masters.ts";
import type { PeelsSummary } from "./summary.ts";
import { findTrouble } from "./trouble.ts";
import type { Overview } from "./use-overview.ts";

const now = Date.parse("2026-03-02T12:00:00Z");
const ago = (minutes: number) => new Date(now - minutes * 60_000).toISOString();
const nothing = {} as Overview;
const healthy: PeelsSummary = { alive: 3, silent: 0, silentPeels: [], ending: [] };
const calm: JudgedMasters = { masters: [], lost: [], ready: 0 };

const troubles = (
  overview: Partial<Record<keyof Overview, unknown>>,
  known: { peels?: PeelsSummary; judged?: JudgedMasters } = {},
) =>
  findTrouble({ ...nothing, ...overview } as Overview, {
    ...{ peels: known.peels ?? healthy, judged: known.judged ?? calm, now },
  });
const said = (...args: Parameters<typeof troubles>) => troubles(...args).map((one) => one.said);
const job = (name: string, status: string, minutes: number, jid = `job-${minutes}`) => ({
  ...{ function: name, status, jid, created_at: ago(minutes) },
});

test("nothing is wrong where nothing is known to be, and where nothing may be read", () => {
  expect(troubles({})).toEqual([]);
  expect(findTrouble(nothing, { peels: undefined, judged: undefined, now })).toEqual([]);
  expect(
    troubles({
      jobs: { items: [job("test.ping", "completed", 5)] },
      ...{ states: { counts: { failed: 0, drifted: 0 } }, approvals: { approvals: [] }, breakers: [] },
      ...{ rollouts: [], releases: [], pending: { items: [] } },
    }),
  ).toEqual([]);
});

test("failures come first, then who is silent, what drifted, what waits, and what runs", () => {
  const found = troubles(
    {
      rollouts: [
        { id: "rol-1", function: "state.apply", status: "running", wave: 2, waves: 4, failures: 1 },
        { id: "rol-2", function: "pkg.upgrade", status: "paused", wave: 1, waves: 3, failures: 0 },
      ],
      jobs: { items: [job("state.apply", "failed", 3)] },
      states: { counts: { failed: 1, drifted: 2 } },
    },
    { peels: { ...healthy, silent: 1, silentPeels: [{ id: "web-1", since: ago(125) }] } },
  );
  expect(found.map(({ word, to }) => [word, to])).toEqual([
    ["failed", "/jobs/job-3"],
    ["failed", "/states"],
    ["silent", "/peels?show=silent"],
    ["drifted", "/states"],
    ["paused", "/rollouts/rol-2"],
    ["running", "/rollouts/rol-1"],
  ]);
  expect(found.map((one) => one.said)).toEqual([
    "A job of state.apply failed 3 min ago",
    "States failed on one peel in the last run",
    "One peel is silent: web-1 (2 h)",
    "2 peels drifted from their state files",
    "The rollout of pkg.upgrade is paused in wave 1 of 3",
    "The rollout of state.apply runs: wave 2 of 4, one peel failed",
  ]);
  expect(found.slice(0, 5).every(({ next }) => next !== undefined)).toBe(true);
});

test("jobs that fail again and again are one trouble for each function", () => {
  const items = [
    ...[job("cmd.run", "failed", 1), job("cmd.run", "completed", 2), job("cmd.run", "failed", 9)],
    job("pkg.install", "failed", 60),
  ];
  expect(said({ jobs: { items } })).toEqual([
    "2 jobs of cmd.run failed in 24 h, the last one 1 min ago",
    "A job of pkg.install failed 1 h ago",
  ]);
});

test("of many silent peels the first are named, and credentials that end are named each", () => {
  const silentPeels = ["a", "b", "c", "d"].map((id) => ({ id, since: ago(10) }));
  const peels = {
    ...{ alive: 0, silent: 1_200, silentPeels: [{ id: "never" }, ...silentPeels] },
    ending: [
      { id: "a", at: ago(-90) },
      { id: "b", at: ago(5) },
    ],
  };
  expect(said({}, { peels })).toEqual([
    "1,200 peels are silent: never (never seen), a (10 min), b (10 min) and 1,197 more",
    "The credentials of a end in 1 h, and it is silent",
    "The credentials of b have ended, and it is silent",
  ]);
});

test("masters that need a look say why, and a lease without its master says what happens", () => {
  const master = (name: string, word: string, outcome: string, reason?: string) => ({
    ...{ name, word, outcome, duties: [], version: "1", since: ago(1), answers: false },
    ...(reason === undefined ? {} : { reason }),
  });
  const judged = {
    masters: [
      master("m1", "silent", "offline"),
      master("m2", "degraded", "timeout", "git: the remote does not answer"),
      master("m3", "ready", "ok"),
      master("m4", "not ready", "failed", "clock: 2h ahead"),
    ],
    lost: [{ lease: "reactor", holder: "gone" }],
    ready: 2,
  } as unknown as JudgedMasters;
  expect(troubles({}, { judged }).map((one) => [one.outcome, one.said])).toEqual([
    ["failed", "The master m1 is silent"],
    ["failed", "The master m4 is not ready: clock: 2h ahead"],
    ["timeout", "The master m2 is degraded: git: the remote does not answer"],
    ["timeout", "gone holds reactor, and is not among the masters"],
  ]);
});

test("what waits for a decision: requests, hosts, files, and breakers that are open", () => {
  const approval = (id: string, state = "waiting") => ({
    ...{ id, state, operation: "jobs.create", asked_by: "anna", asked_at: ago(4) },
  });
  expect(
    said({
      approvals: {
        approvals: [...["1", "2", "3", "4", "5"].map((id) => approval(id)), approval("6", "denied")],
      },
      pending: { items: [1, 2], next: "3" },
      releases: [{ environment: "base", since: ago(61) }],
      breakers: [{ rule: "storm", opened_at: ago(1), open_until: ago(-4) }],
    }),
  ).toEqual([
    "The breaker of the rule storm is open for another 4 min: the rule does nothing",
    ...Array(3).fill("anna wants to run a job, and has waited 4 min for others to agree"),
    "2 more requests wait for others to agree",
    "2+ hosts wait to join",
    "New files of base wait for a release since 1 h",
  ]);
});
