import { encodePeelId } from "../../../base/peel-id.ts";
import { type App, routes, useQuery } from "../../api/mod.ts";
import { Empty } from "../../kit/empty.tsx";
import { Problem } from "../../kit/problem.tsx";
import { hrefOf } from "../../kit/router.ts";
import { Status } from "../../kit/status.tsx";
import { Duration, Time } from "../../kit/time.tsx";

/** All of what one peel returned to a job. */
export function ReturnPage({ app, jid, peel }: { app: App; jid: string; peel: string }) {
  const { value: job, problem } = useQuery(
    app,
    `${jid} ${peel}`,
    (signal) => app.client.call(routes.getJob, { jid, peel }, signal),
    [`svc/job/${jid}/return/${encodePeelId(peel)}`, `svc/job/${jid}/ended`],
  );
  const answer = job?.returns[encodePeelId(peel)];
  return (
    <div class="page">
      <header class="page-head">
        <h1>{peel}</h1>
        {job !== undefined && <Status word={job.outcomes[encodePeelId(peel)] ?? "pending"} />}
        <div class="actions">
          {app.session.may("facts", "read") && (
            <a class="button" href={hrefOf(`/peels/${peel}`)}>
              The peel
            </a>
          )}
          <a class="button" href={hrefOf(`/jobs/${jid}`)}>
            The job
          </a>
        </div>
      </header>
      <Problem problem={problem} />
      {job !== undefined && answer === undefined && (
        <Empty title="Nothing returned yet">
          {job.status === "running"
            ? "The peel has not answered. This page shows its return as soon as it comes."
            : "The peel never answered this job."}
        </Empty>
      )}
      {job !== undefined && answer !== undefined && (
        <>
          <section class="card" aria-label="Summary">
            <dl class="body facts">
              <dt>Function</dt>
              <dd class="mono">{job.function}</dd>
              <dt>Started</dt>
              <dd>
                <Time at={answer.started_at} now={app.now} />, took <Duration ms={answer.duration_ms} />
              </dd>
              <dt>Return code</dt>
              <dd class="number">{answer.retcode}</dd>
              {answer.late === true && (
                <>
                  <dt>Late</dt>
                  <dd>It arrived after the deadline</dd>
                </>
              )}
            </dl>
          </section>
          {answer.error !== undefined && <p class="notice failed">{answer.error}</p>}
          {answer.return !== undefined && (
            <section class="card" aria-label="Returned">
              <header>
                <h2>Returned</h2>
              </header>
              {/* It scrolls, so it can be reached by keys. */}
              <section class="output" tabIndex={0} aria-label="Returned, text">
                <pre>{textOf(answer.return)}</pre>
              </section>
            </section>
          )}
        </>
      )}
    </div>
  );
}

const textOf = (value: unknown): string =>
  typeof value === "string" ? value : JSON.stringify(value, undefined, 2);
