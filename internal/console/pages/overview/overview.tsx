import { Fragment } from "preact";
import type { App } from "../../api/mod.ts";
import { Empty } from "../../kit/empty.tsx";
import { Problem } from "../../kit/problem.tsx";
import { hrefOf } from "../../kit/router.ts";
import { Counts } from "../../kit/shares.tsx";
import { Time } from "../../kit/time.tsx";
import { Breakers } from "./breakers.tsx";
import { Figure } from "./figure.tsx";
import { judgeMasters } from "./judge-masters.ts";
import { LatestJobs } from "./latest-jobs.tsx";
import { Masters } from "./masters.tsx";
import { summarize } from "./summary.ts";
import { useOverview } from "./use-overview.ts";

/** How the fleet is, on one page. */
export function Overview({ app }: { app: App }) {
  const { value, problem } = useOverview(app);
  const peels = value?.peels === undefined ? undefined : summarize(value.peels.items, app.now.value);
  const jobs = value?.jobs?.items;
  const counts = value?.states?.counts;
  const judged = value?.masters === undefined ? undefined : judgeMasters(value.masters);
  const breakers = value?.breakers;
  const isNew = value?.peels?.items.length === 0 && value.pending?.items.length === 0;
  return (
    <div class="page">
      <header class="page-head">
        <h1>Overview</h1>
      </header>
      <Problem problem={problem} />
      <section class="figures" aria-label="Figures" aria-busy={value === undefined}>
        {value?.peels !== undefined && (
          <>
            <Figure label="Alive" value={peels?.alive} to="/peels?show=alive" />
            <Figure label="Silent" value={peels?.silent} to="/peels?show=silent" outcome="offline" />
          </>
        )}
        {value?.pending !== undefined && (
          <Figure
            label="Pending"
            value={value.pending.items.length}
            more={value.pending.next !== undefined}
            to="/enrollments"
            outcome="running"
          />
        )}
        {value?.jobs !== undefined && (
          <>
            <Figure
              label="Running"
              value={jobs?.filter(({ status }) => status === "running").length}
              to="/jobs?status=running"
              outcome="running"
            />
            <Figure
              label="Failed"
              value={jobs?.filter(({ status }) => status === "failed").length}
              more={value.jobs.more}
              to="/jobs?status=failed"
              outcome="failed"
            >
              in 24 h
            </Figure>
          </>
        )}
        {counts !== undefined && (
          <Figure label="Drifted" value={counts.drifted + counts.failed} to="/states" outcome="changed">
            {counts.failed > 0 ? `${counts.failed} failed` : undefined}
          </Figure>
        )}
        {value?.approvals !== undefined && (
          <Figure
            label="Approvals"
            value={value.approvals.approvals.filter(({ state }) => state === "waiting").length}
            to="/approvals"
            outcome="timeout"
          />
        )}
        {breakers !== undefined && (
          <Figure label="Breakers" value={breakers.length} to="/reactor" outcome="failed">
            open
          </Figure>
        )}
        {judged !== undefined && (
          <Figure
            label="Masters"
            value={judged.masters.length}
            {...(judged.ready < judged.masters.length ? { outcome: "failed" as const } : {})}
          >
            {judged.ready < judged.masters.length
              ? `${judged.masters.length - judged.ready} not ready`
              : undefined}
          </Figure>
        )}
        {value === undefined && <Figure label="Reading the fleet" value={undefined} />}
      </section>
      {isNew && (
        <div class="card">
          <Empty title="No hosts yet" command="svc enroll token create --peel 'web-*' --uses 10">
            Create a token, and give it to svc-peel on each host: it joins the fleet and appears here.
          </Empty>
        </div>
      )}
      <div class="grid">
        <div class="stack">
          {counts !== undefined && value?.peels?.items.length !== 0 && (
            <section class="card" aria-labelledby="compliance-head">
              <header>
                <h2 id="compliance-head">States</h2>
                <a class="small" href={hrefOf("/states")}>
                  By commit
                </a>
              </header>
              <div class="body">
                <Counts label="Peels by their last state run" counts={Object.entries(counts)} />
              </div>
            </section>
          )}
          {peels !== undefined && peels.ending.length > 0 && (
            <section class="card" aria-labelledby="ending-head">
              <header>
                <h2 id="ending-head">Ends soon</h2>
                <span class="muted small">Credentials of silent peels</span>
              </header>
              <dl class="body facts">
                {peels.ending.map(({ id, at }) => (
                  <Fragment key={id}>
                    <dt>
                      <Time at={at} now={app.now} />
                    </dt>
                    <dd>
                      <a href={hrefOf(`/peels/${id}`)}>{id}</a>
                    </dd>
                  </Fragment>
                ))}
              </dl>
            </section>
          )}
        </div>
        {peels !== undefined && peels.silent > 0 && (
          <section class="card" aria-labelledby="silent-head">
            <header>
              <h2 id="silent-head">Silent peels</h2>
              <a class="small" href={hrefOf("/peels?show=silent")}>
                All {peels.silent.toLocaleString("en")}
              </a>
            </header>
            <dl class="body facts">
              {peels.silentPeels.map(({ id, since }) => (
                <Fragment key={id}>
                  <dt>{since === undefined ? "never heard" : <Time at={since} now={app.now} />}</dt>
                  <dd>
                    <a href={hrefOf(`/peels/${id}`)}>{id}</a>
                  </dd>
                </Fragment>
              ))}
            </dl>
          </section>
        )}
      </div>
      {breakers !== undefined && breakers.length > 0 && <Breakers app={app} breakers={breakers} />}
      {judged !== undefined && <Masters app={app} judged={judged} />}
      {jobs !== undefined && jobs.length > 0 && <LatestJobs app={app} jobs={jobs} />}
    </div>
  );
}
