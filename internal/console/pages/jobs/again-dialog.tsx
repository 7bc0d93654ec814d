import { type App, routes } from "../../api/mod.ts";
import { startAndGo } from "../../calls/mod.ts";
import { Confirm } from "../../kit/confirm.tsx";
import { filesOf, OutlookNotes, useOutlook } from "../../outlook/mod.ts";
import type { JobRow, ShownJob } from "./job-rows.ts";

/** Runs a job again, the same way, on those of its peels on which it did not end well. */
export function AgainDialog(props: { app: App; job: ShownJob; rows: readonly JobRow[]; close(): void }) {
  const { app, job, rows, close } = props;
  const maxNamed = 8;
  const targets = rows.map(({ peelId }) => peelId);
  const outlook = useOutlook(app, {
    kind: "jobs",
    action: "run",
    function: job.function,
    targets,
    ...filesOf(job.args),
  });
  return (
    <Confirm
      title={`Run ${job.function} again on ${rows.length} ${rows.length === 1 ? "host" : "hosts"}?`}
      verb="Run again"
      count={rows.length}
      close={close}
      act={() =>
        startAndGo(app, "job", async () => {
          const request = { function: job.function, args: job.args, timeout: job.timeout, targets };
          const { jid } = await app.client.call(routes.createJob, request);
          return `/jobs/${jid}`;
        })
      }
    >
      <p>
        It is a new job with the same arguments. {outlook.words} on those that failed, were offline, or did
        not answer in time. For those that are offline then, it waits until its deadline.
      </p>
      <OutlookNotes outlook={outlook} />
      <ul class="tags">
        {rows.slice(0, maxNamed).map(({ peelId, peel }) => (
          <li key={peelId} class="tag">
            {peel}
          </li>
        ))}
        {rows.length > maxNamed && <li class="muted small">and {rows.length - maxNamed} more</li>}
      </ul>
    </Confirm>
  );
}
