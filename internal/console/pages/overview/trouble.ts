import { requestWords } from "../../../wire/request-words.ts";
import type { Outcome } from "../../kit/outcome.ts";
import { brief } from "../../kit/times.ts";
import type { JudgedMasters } from "./judge-masters.ts";
import type { PeelsSummary } from "./summary.ts";
import type { Overview } from "./use-overview.ts";

/** Something that is wrong now, or waits for a person. */
export interface Trouble {
  outcome: Outcome;
  /** The word of that outcome. */
  word: string;
  /** A sentence, which leads to what it is about. */
  said: string;
  to: string;
  /** What to do about it. */
  next?: string;
}

const maxNamed = 3;

/** What is wrong, failures first, then what waits for a decision, then what runs. */
export function findTrouble(
  overview: Overview,
  { peels, judged, now }: { peels: PeelsSummary | undefined; judged: JudgedMasters | undefined; now: number },
): Trouble[] {
  return [
    ...ofMasters(judged),
    ...ofJobs(overview, now),
    ...ofStates(overview),
    ...ofPeels(peels, now),
    ...ofBreakers(overview, now),
    ...ofRollouts(overview),
    ...ofDecisions(overview, now),
  ].toSorted((one, other) => rank(one.outcome) - rank(other.outcome));
}

const ranks: readonly Outcome[] = ["failed", "offline", "changed", "timeout", "running"];
const rank = (outcome: Outcome) => ranks.indexOf(outcome);

function ofMasters(judged: JudgedMasters | undefined): Trouble[] {
  const { masters = [], lost = [] } = judged ?? {};
  return [
    ...masters.flatMap(({ name, word, outcome, reason }): Trouble[] => {
      if (outcome === "ok" || outcome === "skipped") return [];
      const said = `The master ${name} is ${word}${reason === undefined ? "" : `: ${reason}`}`;
      const next =
        word === "silent" ? "On its host: systemctl status svc-master" : "svc doctor names the next step";
      const shown = outcome === "timeout" ? "timeout" : "failed";
      return [{ outcome: shown, word, said, to: "/cluster", next }];
    }),
    ...lost.map(
      ({ lease, holder }): Trouble => ({
        ...{ outcome: "timeout", word: "lost", to: "/cluster" },
        said: `${holder} holds ${lease}, and is not among the masters`,
        next: "Another master takes over within 20 s",
      }),
    ),
  ];
}

/** By function: a job that fails again and again is one trouble. */
function ofJobs({ jobs }: Overview, now: number): Trouble[] {
  const failed = jobs?.items.filter(({ status }) => status === "failed") ?? [];
  return [...Map.groupBy(failed, (job) => job.function)].map(([name, [newest, ...others]]): Trouble => {
    const ago = newest === undefined ? "" : ` ${brief(Math.max(0, now - Date.parse(newest.created_at)))} ago`;
    const one = others.length === 0;
    return {
      ...{ outcome: "failed", word: "failed" },
      said: one
        ? `A job of ${name} failed${ago}`
        : `${number(others.length + 1)} jobs of ${name} failed in 24 h, the last one${ago}`,
      to: one && newest !== undefined ? `/jobs/${newest.jid}` : `/jobs?status=failed`,
      next: "Read what the peels answered, and run it again for those that failed",
    };
  });
}

function ofStates({ states }: Overview): Trouble[] {
  const { failed = 0, drifted = 0 } = states?.counts ?? {};
  const found: Trouble[] = [];
  if (failed > 0) {
    found.push({
      ...{ outcome: "failed", word: "failed", to: "/states" },
      said: `States failed on ${peelsOf(failed)} in the last run`,
      next: "Read why, correct the state files or the host, and apply them again",
    });
  }
  if (drifted > 0) {
    found.push({
      ...{ outcome: "changed", word: "drifted", to: "/states" },
      said: `${capital(peelsOf(drifted))} drifted from ${drifted === 1 ? "its" : "their"} state files`,
      next: "Look at the differences, and apply the states",
    });
  }
  return found;
}

function ofPeels(peels: PeelsSummary | undefined, now: number): Trouble[] {
  const { silent = 0, silentPeels = [], ending = [] } = peels ?? {};
  const found: Trouble[] = [];
  if (silent > 0) {
    const named = silentPeels.slice(0, maxNamed).map(({ id, since }) => {
      const ms = since === undefined ? Number.NaN : now - Date.parse(since);
      return Number.isNaN(ms) ? `${id} (never seen)` : `${id} (${brief(Math.max(0, ms))})`;
    });
    const more = silent > named.length ? ` and ${number(silent - named.length)} more` : "";
    found.push({
      ...{ outcome: "offline", word: "silent", to: "/peels?show=silent" },
      said: `${capital(peelsOf(silent))} ${silent === 1 ? "is" : "are"} silent: ${named.join(", ")}${more}`,
      next: "On the host: systemctl status svc-peel, then svc-peel check",
    });
  }
  for (const { id, at } of ending) {
    const left = Date.parse(at) - now;
    found.push({
      ...{ outcome: "timeout", word: "ends", to: `/peels/${id}` },
      said:
        left > 0
          ? `The credentials of ${id} end in ${brief(left)}, and it is silent`
          : `The credentials of ${id} have ended, and it is silent`,
      next: "Start it: it renews them by itself as soon as it runs",
    });
  }
  return found;
}

function ofBreakers({ breakers }: Overview, now: number): Trouble[] {
  return (breakers ?? []).map(
    ({ rule, open_until: until }): Trouble => ({
      ...{ outcome: "failed", word: "open", to: "/reactor" },
      said: `The breaker of the rule ${rule} is open for another ${brief(Math.max(0, Date.parse(until) - now))}: the rule does nothing`,
      next: "Look for what fired it so often, then close the breaker",
    }),
  );
}

function ofRollouts({ rollouts }: Overview): Trouble[] {
  return (rollouts ?? []).map(({ id, status, wave, waves, failures, ...rollout }): Trouble => {
    const paused = status === "paused";
    const failed = failures === 0 ? "" : `, ${peelsOf(failures)} failed`;
    return {
      ...{ outcome: paused ? "timeout" : "running", word: status, to: `/rollouts/${id}` },
      said: `The rollout of ${rollout.function} ${paused ? "is paused in" : "runs:"} wave ${wave} of ${waves}${failed}`,
      ...(paused ? { next: "Resume or abort it" } : {}),
    };
  });
}

function ofDecisions({ approvals, pending, releases }: Overview, now: number): Trouble[] {
  const waiting = approvals?.approvals.filter(({ state }) => state === "waiting") ?? [];
  const hosts = pending?.items.length ?? 0;
  const found: Trouble[] = waiting.slice(0, maxNamed).map((one) => ({
    ...{ outcome: "timeout", word: "waiting", to: `/approvals/${one.id}` },
    said: `${one.asked_by} wants to ${requestWords(one, peelsOf)}, and has waited ${brief(Math.max(0, now - Date.parse(one.asked_at)))} for others to agree`,
    next: "Read what will happen, then approve or deny it",
  }));
  if (waiting.length > maxNamed) {
    const said = `${number(waiting.length - maxNamed)} more requests wait for others to agree`;
    found.push({ outcome: "timeout", word: "waiting", said, to: "/approvals" });
  }
  if (hosts > 0) {
    found.push({
      ...{ outcome: "timeout", word: "pending", to: "/enrollments" },
      said:
        hosts === 1
          ? "A host waits to join"
          : `${number(hosts)}${pending?.next ? "+" : ""} hosts wait to join`,
      next: "Compare the fingerprints, then approve or reject",
    });
  }
  for (const { environment, since } of releases ?? []) {
    found.push({
      ...{ outcome: "timeout", word: "waiting", to: "/states" },
      said: `New files of ${environment} wait for a release since ${brief(Math.max(0, now - Date.parse(since)))}`,
      next: `Release them: svc states release ${environment}`,
    });
  }
  return found;
}

const number = (count: number) => count.toLocaleString("en");
const peelsOf = (count: number) => (count === 1 ? "one peel" : `${number(count)} peels`);
const capital = (text: string) => `${text[0]?.toUpperCase()}${text.slice(1)}`;
