import { type Check, callsOf, type EndedJob, type Violation } from "../history.ts";

const ended = new Set(["ok", "failed", "busy", "offline", "timeout", "lost", "cancelled"]);
/** A late result may still replace it (docs/jobs.md). */
const open = new Set(["pending", "timeout"]);

/** Each target of a job has one outcome, the same for every master and at any time, and it is true. */
export const checkOutcomes: Check = (history, final) => {
  const found: Violation[] = [];
  const begun = new Map<string, number>();
  for (const { job, token, at } of callsOf(history, "dispatch", "rollout")) {
    for (const name of [job, token]) if (name !== undefined) begun.set(name, at);
  }
  const [[first, jobs] = ["", {}], ...others] = Object.entries(final.jobs);
  for (const [jid, job] of Object.entries(jobs)) {
    if (job === null) continue;
    const at = begun.get(jid) ?? begun.get(job.token ?? "") ?? 0;
    const report = (text: string) =>
      found.push({ invariant: "one true outcome", at, text: `${jid} ${text}` });
    for (const problem of problemsOf(job, final.effects)) report(problem);
    for (const [master, theirs] of others) {
      const other = theirs[jid];
      if (other && !Bun.deepEquals(job.outcomes, other.outcomes)) {
        report(
          `is ${JSON.stringify(job.outcomes)} for ${first} and ${JSON.stringify(other.outcomes)} for ${master}`,
        );
      }
    }
  }
  for (const call of callsOf(history, "show")) {
    const now = jobs[call.job ?? ""];
    for (const [peel, outcome] of Object.entries(call.outcomes ?? {})) {
      const last = now?.outcomes[peel];
      if (last === undefined || open.has(outcome) || outcome === last) continue;
      const text = `${call.job} was ${outcome} on ${peel}, and is ${last} now`;
      found.push({ invariant: "one true outcome", at: call.at, text });
    }
  }
  return found;
};

/** What is wrong with a job by itself, and compared with what its targets did. */
function problemsOf(job: EndedJob, effects: Readonly<Record<string, readonly string[]>>): string[] {
  const { targets, outcomes, counts, token } = job;
  const sum = Object.values(counts).reduce((total, count) => total + count, 0);
  const adds = sum === targets.length && Object.keys(outcomes).length === targets.length;
  const problems = adds ? [] : [`has ${targets.length} targets and counts ${JSON.stringify(counts)}`];
  for (const peel of targets) {
    const outcome = outcomes[peel] ?? "absent";
    if (!ended.has(outcome)) problems.push(`is ${outcome} on ${peel}`);
    if (token === undefined) continue;
    const ran = effects[peel]?.includes(token) === true;
    if (outcome === "ok" && (!ran || job.failing === true))
      problems.push(`is ok on ${peel} and did not succeed`);
    if ((outcome === "offline" || outcome === "busy") && ran)
      problems.push(`is ${outcome} on ${peel} and ran`);
  }
  return problems;
}
