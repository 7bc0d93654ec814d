import type { ComponentChildren } from "preact";
import { type App, type ListedPeel, routes, useAnswer } from "../../api/mod.ts";
import { Card } from "../../kit/card.tsx";
import { Fact } from "../../kit/fact.tsx";
import { hrefOf } from "../../kit/router.ts";
import { Status } from "../../kit/status.tsx";
import { Time } from "../../kit/time.tsx";
import { hostLines } from "./host-facts.ts";
import { RunCounts } from "./run-counts.tsx";
import type { ViewProps } from "./shown.ts";

/** What masters know of a peel, at a glance. */
export function PeelSummary({ app, peel }: ViewProps) {
  const { now } = app;
  const { last_run: run, last_job: job } = peel;
  const at = (time: string | undefined) => time !== undefined && <Time at={time} now={now} />;
  return (
    <div class="grid">
      <div class="stack">
        <PeelCard peel={peel} now={now} />
        {app.session.may("facts", "read") && <HostCard app={app} peel={peel} />}
      </div>
      <div class="stack">
        <Card id="run-head" title="Last state run" beside={at(run?.run_at)} body="plain">
          {run === undefined ? <p class="muted">It never reported one.</p> : <RunCounts run={run} />}
        </Card>
        <Card id="job-head" title="Last job" beside={at(job?.at)} body="plain">
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
        </Card>
      </div>
    </div>
  );
}

function PeelCard({ peel, now }: { peel: ListedPeel } & Pick<App, "now">) {
  const { creds_expires_at: end, settings_version: version } = peel;
  return (
    <Card id="peel-head" title="Peel" body="facts">
      <Fact name="Enrollment">
        <Status word={peel.state} /> <span class="mono">{peel.enrollment_id}</span>
      </Fact>
      <Fact name="Version" as="mono" value={peel.version ?? "not reported yet"} />
      <Fact name="Address" as="mono" value={peel.address ?? "not known"} />
      <Fact name="Labels" as="tags">
        {labelsOf(peel)}
      </Fact>
      <Fact name="Credentials end">{end === undefined ? "not known" : <Time at={end} now={now} />}</Fact>
      <Fact name="Settings">
        {version === undefined ? (
          "none compiled"
        ) : (
          <>
            compiled <Time at={version} now={now} />
          </>
        )}
      </Fact>
    </Card>
  );
}

/** What the host is, as its peel reported it last. */
function HostCard({ app, peel: { id } }: ViewProps) {
  const { value } = useAnswer(app, routes.getFacts, { id });
  const lines = hostLines(value);
  if (lines.length === 0) return null;
  return (
    <Card
      id="host-head"
      title="Host"
      beside={<a href={hrefOf(`/peels/${id}/facts`)}>All facts</a>}
      body="facts"
    >
      {lines.map(({ name, value: text }) => (
        <Fact key={name} name={name} value={text} />
      ))}
    </Card>
  );
}

/** The labels of a peel; each leads to the peels that have it too. */
function labelsOf({ labels }: ListedPeel): ComponentChildren {
  const all = Object.entries(labels);
  if (all.length === 0) return <span class="muted">none</span>;
  return all.map(([name, value]) => (
    <a key={name} class="tag" href={hrefOf(`/peels?target=${encodeURIComponent(`T@${name}:${value}`)}`)}>
      {name}={value}
    </a>
  ));
}
