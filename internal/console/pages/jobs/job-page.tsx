import { useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { type App, routes } from "../../api/mod.ts";
import { Confirm } from "../../kit/confirm.tsx";
import { Empty } from "../../kit/empty.tsx";
import { outcomeOf, outcomes } from "../../kit/outcome.ts";
import { Problem } from "../../kit/problem.tsx";
import { hrefOf, type Place } from "../../kit/router.ts";
import { Counts } from "../../kit/shares.tsx";
import { Status } from "../../kit/status.tsx";
import { DecisionOutlook, decide } from "../../outlook/mod.ts";
import { AgainDialog } from "./again-dialog.tsx";
import { JobFacts } from "./job-facts.tsx";
import { countsOf, createRows, toTryAgain } from "./job-rows.ts";
import { JobTable } from "./job-table.tsx";
import { useJob } from "./use-job.ts";

/** One job: its outcomes as they come, its returns, and what can be done about it. */
export function JobPage({ app, jid, place }: { app: App; jid: string; place: Place }) {
  const {
    job: { value: job, problem, reload },
    told,
  } = useJob(app, jid);
  const asking = useSignal<"cancel" | "again" | undefined>(undefined);
  const rowsOf = useMemo(createRows, [jid]);
  const rows = useMemo(() => (job === undefined ? [] : rowsOf(job, told)), [rowsOf, job, told]);
  const counts = useMemo(() => countsOf(rows), [rows]);
  const only = place.query.get("outcome");
  const shown = useMemo(
    () => (only === null ? rows : rows.filter(({ outcome }) => outcome === only)),
    [rows, only],
  );
  const bad = toTryAgain(rows);
  if (job === undefined) {
    return (
      <div class="page">
        <header class="page-head">
          <h1>Job</h1>
        </header>
        {problem?.status === 404 ? (
          <Empty title={`The job ${jid} does not exist`}>
            Masters forget jobs after a time. <a href={hrefOf("/jobs")}>All jobs</a>
          </Empty>
        ) : (
          <Problem problem={problem} />
        )}
      </div>
    );
  }
  const pending = counts.get("pending") ?? 0;
  const close = () => {
    asking.value = undefined;
  };
  return (
    <div class="page tall">
      <header class="page-head">
        <h1 class="mono">{job.function}</h1>
        <Status word={job.status} />
        <span class="muted number" role="status">
          {pending > 0
            ? `${(rows.length - pending).toLocaleString("en")} of ${rows.length.toLocaleString("en")} answered`
            : ""}
        </span>
        <div class="actions">
          {job.status === "running" && app.session.may("jobs", "cancel") && (
            <button
              type="button"
              class="button danger"
              onClick={() => {
                asking.value = "cancel";
              }}
            >
              Cancel the job
            </button>
          )}
          {job.status !== "running" && bad.length > 0 && app.session.may("jobs", "run") && (
            <button
              type="button"
              class="button primary"
              onClick={() => {
                asking.value = "again";
              }}
            >
              Again for {bad.length.toLocaleString("en")} that failed or were away
            </button>
          )}
        </div>
      </header>
      <Problem problem={problem} />
      <section class="card" aria-label="Summary">
        <div class="body stack">
          <JobFacts app={app} job={job} />
          <Counts label="Peels by outcome" counts={counts} bare={counts.size > 1} />
        </div>
      </section>
      {counts.size > 1 && (
        <nav class="choices" aria-label="Outcome">
          {[undefined, ...inOrder(counts)].map((one) => (
            <a
              key={one ?? "all"}
              class="button"
              href={hrefOf(one === undefined ? `/jobs/${jid}` : `/jobs/${jid}?outcome=${one}`)}
              {...((one ?? null) === only ? { "aria-current": "page" } : {})}
            >
              {one === undefined ? "all" : <Status word={one} />}{" "}
              <span class="number">
                {(one === undefined ? rows.length : (counts.get(one) ?? 0)).toLocaleString("en")}
              </span>
            </a>
          ))}
        </nav>
      )}
      <JobTable app={app} jid={jid} rows={shown} />
      {asking.value === "cancel" && (
        <Confirm
          title={`Cancel ${job.function} on ${pending} hosts?`}
          verb="Cancel the job"
          count={pending}
          danger
          close={close}
          act={async () => {
            const words = { done: "The job is cancelled", waiting: "Cancelling the job" };
            await decide(app, words, () => app.client.call(routes.cancelJob, { jid }));
            reload();
          }}
        >
          <p>
            {pending === 1 ? "1 host has" : `${pending} hosts have`} not ended it: where it runs, it is
            stopped; where it has not begun, it does not begin. What it did already stays.
          </p>
          <DecisionOutlook app={app} question={{ kind: "jobs", action: "cancel", id: jid }} />
        </Confirm>
      )}
      {asking.value === "again" && <AgainDialog app={app} job={job} rows={bad} close={close} />}
    </div>
  );
}

/** As the bar above them has them. */
const inOrder = <Word extends string>(counts: ReadonlyMap<Word, number>): Word[] =>
  [...counts.keys()].toSorted(
    (one, other) => outcomes.indexOf(outcomeOf(one)) - outcomes.indexOf(outcomeOf(other)),
  );
