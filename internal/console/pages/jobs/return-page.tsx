import { encodePeelId } from "../../../base/names/peel-id.ts";
import { Answer } from "../../answers/mod.ts";
import { type App, routes, useAnswer } from "../../api/mod.ts";
import { LinkButton } from "../../kit/button.tsx";
import { Card } from "../../kit/card.tsx";
import { Empty } from "../../kit/empty.tsx";
import { Fact } from "../../kit/fact.tsx";
import { Page } from "../../kit/page.tsx";
import { Problem } from "../../kit/problem.tsx";
import { Status } from "../../kit/status.tsx";
import { Duration, Time } from "../../kit/time.tsx";
import type { ShownJob } from "./job-rows.ts";

/** All of what one peel returned to a job. */
export function ReturnPage({ app, jid, peel }: { app: App; jid: string; peel: string }) {
  const { value: job, problem } = useAnswer(app, routes.getJob, { jid, peel }, [
    `svc/job/${jid}/return/${encodePeelId(peel)}`,
    `svc/job/${jid}/ended`,
  ]);
  const answer = job?.returns[encodePeelId(peel)];
  return (
    <Page
      title={peel}
      tab={`${job?.function ?? "Job"} on ${peel}`}
      up={{ to: `/jobs/${jid}`, words: job?.function ?? "Job" }}
      beside={job !== undefined && <Status word={job.outcomes[encodePeelId(peel)] ?? "pending"} />}
      actions={
        <>
          {app.session.may("facts", "read") && <LinkButton to={`/peels/${peel}`}>The peel</LinkButton>}
          <LinkButton to={`/jobs/${jid}`}>The job</LinkButton>
        </>
      }
    >
      <Problem problem={problem} />
      {job !== undefined && answer === undefined && (
        <Empty title="Nothing returned yet">
          {job.status === "running"
            ? "The peel has not answered. This page shows its return as soon as it comes."
            : "The peel never answered this job."}
        </Empty>
      )}
      {job !== undefined && answer !== undefined && (
        <Returned answer={answer} function={job.function} hint={job.hint} now={app.now} />
      )}
    </Page>
  );
}

interface ReturnedProps extends Pick<App, "now"> {
  answer: ShownJob["returns"][string];
  function: string;
  hint: string | undefined;
}

function Returned({ answer, function: name, hint, now }: ReturnedProps) {
  return (
    <>
      <Card label="Summary" body="facts">
        <Fact name="Function" as="mono" value={name} />
        <Fact name="Started">
          <Time at={answer.started_at} now={now} />, took <Duration ms={answer.duration_ms} />
        </Fact>
        <Fact name="Exit code" as="number" value={answer.retcode} />
        <Fact name="Late">{answer.late === true && "It arrived after the deadline"}</Fact>
      </Card>
      {answer.error !== undefined && <p class="notice failed wrap">{answer.error}</p>}
      {hint !== undefined && answer.return !== undefined && <p class="muted">{hint}</p>}
      {answer.return !== undefined && <Answer value={answer.return} />}
    </>
  );
}
