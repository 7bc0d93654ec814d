import type { routes } from "../../api/mod.ts";
import type { Outcome } from "../../kit/outcome.ts";

type Answer = NonNullable<(typeof routes.listMasters)["types"]>["answer"];
type Master = Answer["masters"][number];

/** A master as the overview shows it. */
export interface JudgedMaster
  extends Pick<Master, "name" | "version" | "since" | "answers" | "reason" | "next"> {
  word: string;
  outcome: Outcome;
  /** What it does alone, each in words; empty for one that holds nothing. */
  duties: string[];
}

const shownAs: Readonly<Record<Master["readiness"], { rank: number; word: string; outcome: Outcome }>> = {
  silent: { rank: 0, word: "silent", outcome: "offline" },
  down: { rank: 1, word: "not ready", outcome: "failed" },
  degraded: { rank: 2, word: "degraded", outcome: "timeout" },
  unknown: { rank: 3, word: "not known", outcome: "skipped" },
  up: { rank: 5, word: "ready", outcome: "ok" },
};
const holdsNothing = 4;

/** What a lease is for, in words. Another one is shown by its name. */
const duties: Readonly<Record<string, string>> = {
  publisher: "publishes state files",
  "facts-secrets": "compiles settings",
  reactor: "runs the reactor",
};

/** The masters, those that need a look first. */
export interface JudgedMasters {
  masters: JudgedMaster[];
  /** Leases whose holder is not among them. */
  lost: { lease: string; holder: string }[];
  /** How many are ready. */
  ready: number;
}

/** Judges the masters: first those that need a look, then those that hold nothing, then the others. */
export function judgeMasters({ masters, leases }: Answer): JudgedMasters {
  const judged = masters.map(({ readiness, leases: held, rollouts, ...master }) => {
    const { rank, word, outcome } = shownAs[readiness];
    const own = held.map((name) => duties[name] ?? `holds ${name}`);
    if (rollouts > 0) own.push(`drives ${rollouts} ${rollouts === 1 ? "rollout" : "rollouts"}`);
    const place = own.length === 0 ? Math.min(rank, holdsNothing) : rank;
    return { place, shown: { ...master, word, outcome, duties: own } };
  });
  const names = new Set(masters.map(({ name }) => name));
  return {
    masters: judged
      .toSorted((one, other) => one.place - other.place || (one.shown.name < other.shown.name ? -1 : 1))
      .map(({ shown }) => shown),
    lost: leases
      .filter(({ holder }) => !names.has(holder))
      .map(({ name, holder }) => ({ lease: name, holder })),
    ready: masters.filter(({ readiness }) => readiness === "up" || readiness === "degraded").length,
  };
}
