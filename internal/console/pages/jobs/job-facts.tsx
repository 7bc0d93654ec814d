import type { App } from "../../api/mod.ts";
import { Arguments } from "../../kit/arguments.tsx";
import { Duration, Time } from "../../kit/time.tsx";
import type { ShownJob } from "./job-rows.ts";

/** What was asked for, by whom and when. */
export function JobFacts({ app, job }: { app: App; job: ShownJob }) {
  return (
    <dl class="facts">
      <dt>Target</dt>
      <dd class="mono">{job.target ?? `a list of ${job.targets.length}`}</dd>
      <Arguments args={job.args} />
      <dt>By</dt>
      <dd>
        {job.created_by}, <Time at={job.created_at} now={app.now} />
        {job.approved_by !== undefined && `, with ${job.approved_by.join(", ")}`}
        {job.finished_at !== undefined && (
          <>
            , took <Duration ms={Date.parse(job.finished_at) - Date.parse(job.created_at)} />
          </>
        )}
      </dd>
      {job.cancelled_by !== undefined && (
        <>
          <dt>Cancelled by</dt>
          <dd>{job.cancelled_by}</dd>
        </>
      )}
      <dt>ID</dt>
      <dd class="mono">{job.jid}</dd>
    </dl>
  );
}
