import { hrefOf } from "../../kit/router.ts";
import { Status } from "../../kit/status.tsx";
import { Time } from "../../kit/time.tsx";
import { RunCounts } from "./run-counts.tsx";
import type { ViewProps } from "./shown.ts";

/** What masters know of a peel, at a glance. */
export function PeelSummary({ app: { now }, peel }: ViewProps) {
  const { labels, last_run: run, last_job: job } = peel;
  return (
    <div class="grid">
      <section class="card" aria-labelledby="peel-head">
        <header>
          <h2 id="peel-head">Peel</h2>
        </header>
        <dl class="body facts">
          <dt>Enrollment</dt>
          <dd>
            <Status word={peel.state} /> <span class="mono">{peel.enrollment_id}</span>
          </dd>
          <dt>System</dt>
          <dd>{peel.os ?? "not reported yet"}</dd>
          <dt>Version</dt>
          <dd class="mono">{peel.version ?? "not reported yet"}</dd>
          <dt>Address</dt>
          <dd class="mono">{peel.address ?? "not known"}</dd>
          <dt>Labels</dt>
          <dd class="tags">
            {Object.entries(labels).map(([name, value]) => (
              <a
                key={name}
                class="tag"
                href={hrefOf(`/peels?target=${encodeURIComponent(`T@${name}:${value}`)}`)}
              >
                {name}={value}
              </a>
            ))}
            {Object.keys(labels).length === 0 && <span class="muted">none</span>}
          </dd>
          <dt>Credentials end</dt>
          <dd>
            {peel.creds_expires_at === undefined ? (
              "not known"
            ) : (
              <Time at={peel.creds_expires_at} now={now} />
            )}
          </dd>
          <dt>Settings</dt>
          <dd>
            {peel.settings_version === undefined ? "none compiled" : `version ${peel.settings_version}`}
          </dd>
        </dl>
      </section>
      <div class="stack">
        <section class="card" aria-labelledby="run-head">
          <header>
            <h2 id="run-head">Last state run</h2>
            {run !== undefined && <Time at={run.run_at} now={now} />}
          </header>
          <div class="body">
            {run === undefined ? <p class="muted">It never reported one.</p> : <RunCounts run={run} />}
          </div>
        </section>
        <section class="card" aria-labelledby="job-head">
          <header>
            <h2 id="job-head">Last job</h2>
            {job !== undefined && <Time at={job.at} now={now} />}
          </header>
          <div class="body">
            {job === undefined ? (
              <p class="muted">Masters remember none.</p>
            ) : (
              <p>
                <Status word={job.outcome ?? "pending"} />{" "}
                <a class="mono" href={hrefOf(`/jobs/${job.jid}`)}>
                  {job.function}
                </a>
              </p>
            )}
          </div>
        </section>
      </div>
    </div>
  );
}
