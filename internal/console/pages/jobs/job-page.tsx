import { useMemo } from "preact/hooks";
import { type App, routes } from "../../api/mod.ts";
import { withFields } from "../../kit/address-field.ts";
import { Button } from "../../kit/button.tsx";
import { Card } from "../../kit/card.tsx";
import { Choices } from "../../kit/choices.tsx";
import { Confirm } from "../../kit/confirm.tsx";
import { Empty } from "../../kit/empty.tsx";
import { outcomeOf, outcomes } from "../../kit/outcome.ts";
import { Page } from "../../kit/page.tsx";
import { Problem } from "../../kit/problem.tsx";
import { hrefOf, type Place } from "../../kit/router.ts";
import { Counts } from "../../kit/shares.tsx";
import { Status } from "../../kit/status.tsx";
import { useDialog } from "../../kit/use-dialog.ts";
import { DecisionOutlook, decide } from "../../outlook/mod.ts";
import { AgainDialog } from "./again-dialog.tsx";
import { JobFacts } from "./job-facts.tsx";
import { countsOf, createRows, failedFirst, type JobOutcome, type ShownJob, toTryAgain } from "./job-rows.ts";
import { JobTable } from "./job-table.tsx";
import { useJob } from "./use-job.ts";

/** One job: its outcomes as they come, its returns, and what can be done about it. */
export function JobPage({ app, jid, place }: { app: App; jid: string; place: Place }) {
  const {
    job: { value: job, problem, reload },
    reported,
  } = useJob(app, jid);
  const dialog = useDialog<"cancel" | "again">();
  const rowsOf = useMemo(createRows, [jid]);
  const rows = useMemo(() => (job === undefined ? [] : rowsOf(job, reported)), [rowsOf, job, reported]);
  const counts = useMemo(() => countsOf(rows), [rows]);
  const only = place.query.get("outcome");
  const shown = useMemo(
    () => failedFirst(only === null ? rows : rows.filter(({ outcome }) => outcome === only)),
    [rows, only],
  );
  const bad = toTryAgain(rows);
  if (job === undefined) {
    return (
      <Page title="Job" tab={jid} up={up}>
        {problem?.status === 404 ? <NoJob jid={jid} /> : <Problem problem={problem} />}
      </Page>
    );
  }
  const pending = counts.get("pending") ?? 0;
  return (
    <Page
      {...{ title: job.function, mono: true, tall: true, up }}
      tab={`${job.function} ${jid}`}
      beside={
        <>
          <Status word={job.status} />
          <Answered pending={pending} all={rows.length} />
        </>
      }
      actions={
        <JobActions app={app} isRunning={job.status === "running"} bad={bad.length} open={dialog.open} />
      }
    >
      <Problem problem={problem} />
      <Card label="Summary" body="stack">
        <JobFacts app={app} job={job} />
        <Counts label="Peels by outcome" counts={counts} bare={counts.size > 1} />
      </Card>
      {counts.size > 1 && <OutcomeChoices place={place} counts={counts} all={rows.length} />}
      <JobTable app={app} jid={jid} rows={shown} />
      {dialog.about === "cancel" && (
        <CancelJob {...{ app, job, pending, close: dialog.close }} cancelled={reload} />
      )}
      {dialog.about === "again" && <AgainDialog app={app} job={job} rows={bad} close={dialog.close} />}
    </Page>
  );
}

const up = { to: "/jobs", words: "Jobs" } as const;

const NoJob = ({ jid }: { jid: string }) => (
  <Empty title={`The job ${jid} does not exist`}>
    Masters forget jobs after a time. <a href={hrefOf("/jobs")}>All jobs</a>
  </Empty>
);

function Answered({ pending, all }: { pending: number; all: number }) {
  return (
    <span class="muted number" role="status">
      {pending > 0 ? `${(all - pending).toLocaleString("en")} of ${all.toLocaleString("en")} answered` : ""}
    </span>
  );
}

function JobActions(props: {
  app: App;
  isRunning: boolean;
  /** On how many peels another try is worth it. */
  bad: number;
  open(what: "cancel" | "again"): void;
}) {
  const { app, isRunning, bad, open } = props;
  if (isRunning) {
    if (!app.session.may("jobs", "cancel")) return null;
    return (
      <Button kind="danger" onClick={() => open("cancel")}>
        Cancel the job
      </Button>
    );
  }
  if (bad === 0 || !app.session.may("jobs", "run")) return null;
  return (
    <Button kind="primary" onClick={() => open("again")}>
      {bad === 1
        ? "Run again where it did not end well"
        : `Run again on the ${bad.toLocaleString("en")} that did not end well`}
    </Button>
  );
}

/** Limits the peels to those of one outcome, in the order of the bar above. */
function OutcomeChoices(props: { place: Place; counts: ReadonlyMap<JobOutcome, number>; all: number }) {
  const { place, counts, all } = props;
  const only = place.query.get("outcome") ?? "";
  const inOrder = [...counts].toSorted(
    ([one], [other]) => outcomes.indexOf(outcomeOf(one)) - outcomes.indexOf(outcomeOf(other)),
  );
  const choices = [["", all] as const, ...inOrder].map(([outcome, count]) => ({
    to: withFields(place, { outcome }),
    isHere: outcome === only,
    words: (
      <>
        {outcome === "" ? "all" : <Status word={outcome} />}{" "}
        <span class="number">{count.toLocaleString("en")}</span>
      </>
    ),
  }));
  return <Choices label="Outcome" choices={choices} />;
}

function CancelJob(props: { app: App; job: ShownJob; pending: number; close(): void; cancelled(): void }) {
  const { app, job, pending, close, cancelled } = props;
  const { jid } = job;
  return (
    <Confirm
      title={`Cancel ${job.function} on ${pending} hosts?`}
      verb="Cancel the job"
      count={pending}
      danger
      close={close}
      act={async () => {
        const words = { done: "The job is cancelled", waiting: "Cancelling the job" };
        await decide(app, words, () => app.client.call(routes.cancelJob, { jid }));
        cancelled();
      }}
    >
      <p>
        {pending === 1 ? "1 host has" : `${pending} hosts have`} not ended it: where it runs, it is stopped;
        where it has not begun, it does not begin. What it did already stays.
      </p>
      <DecisionOutlook app={app} question={{ kind: "jobs", action: "cancel", id: jid }} />
    </Confirm>
  );
}
