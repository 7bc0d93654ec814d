import type { App, ConsolePage } from "../../api/mod.ts";
import { Card } from "../../kit/card.tsx";
import { Empty } from "../../kit/empty.tsx";
import { Fact } from "../../kit/fact.tsx";
import { Page } from "../../kit/page.tsx";
import { Problem } from "../../kit/problem.tsx";
import { hrefOf } from "../../kit/router.ts";
import { Counts } from "../../kit/shares.tsx";
import { Time } from "../../kit/time.tsx";
import { Breakers } from "./breakers.tsx";
import { Figures } from "./figures.tsx";
import { judgeMasters } from "./judge-masters.ts";
import { LatestJobs } from "./latest-jobs.tsx";
import { Masters } from "./masters.tsx";
import { type PeelsSummary, summarize } from "./summary.ts";
import { useOverview } from "./use-overview.ts";

export const overviewPage: ConsolePage = {
  name: "Overview",
  path: "/overview",
  key: "o",
  // It shows of everything what may be read.
  may: () => true,
  View: Overview,
};

/** How the fleet is, on one page. */
function Overview({ app }: { app: App }) {
  const { value, problem } = useOverview(app);
  const peels = value?.peels === undefined ? undefined : summarize(value.peels.items, app.now.value);
  const jobs = value?.jobs?.items ?? [];
  const judged = value?.masters === undefined ? undefined : judgeMasters(value.masters);
  const breakers = value?.breakers ?? [];
  const hasNoPeel = value?.peels?.items.length === 0;
  const now = app.now;
  return (
    <Page title="Overview">
      <Problem problem={problem} />
      <Figures {...{ overview: value, peels, judged }} />
      {hasNoPeel && value.pending?.items.length === 0 && <NoHosts />}
      <div class="grid">
        <div class="stack">
          {value?.states !== undefined && !hasNoPeel && <States counts={value.states.counts} />}
          {peels !== undefined && peels.ending.length > 0 && <EndingSoon {...{ now, peels }} />}
        </div>
        {peels !== undefined && peels.silent > 0 && <SilentPeels {...{ now, peels }} />}
      </div>
      {breakers.length > 0 && <Breakers app={app} breakers={breakers} />}
      {judged !== undefined && <Masters app={app} judged={judged} />}
      {jobs.length > 0 && <LatestJobs app={app} jobs={jobs} />}
    </Page>
  );
}

const NoHosts = () => (
  <div class="card">
    <Empty title="No hosts yet" command="svc enroll token create --peel 'web-*' --uses 10">
      Create a token, and give it to svc-peel on each host: it joins the fleet and appears here.
    </Empty>
  </div>
);

function States({ counts }: { counts: Readonly<Record<string, number>> }) {
  const byCommit = (
    <a class="small" href={hrefOf("/states")}>
      By commit
    </a>
  );
  return (
    <Card id="compliance-head" title="States" beside={byCommit} body="plain">
      <Counts label="Peels by their last state run" counts={Object.entries(counts)} />
    </Card>
  );
}

type PeelsProps = Pick<App, "now"> & { peels: PeelsSummary };

function EndingSoon({ now, peels: { ending } }: PeelsProps) {
  const beside = <span class="muted small">Credentials of silent peels</span>;
  return (
    <Card id="ending-head" title="Ends soon" beside={beside} body="facts">
      {ending.map(({ id, at }) => (
        <Fact key={id} name={<Time at={at} now={now} />}>
          <a href={hrefOf(`/peels/${id}`)}>{id}</a>
        </Fact>
      ))}
    </Card>
  );
}

function SilentPeels({ now, peels: { silent, silentPeels } }: PeelsProps) {
  const all = (
    <a class="small" href={hrefOf("/peels?show=silent")}>
      All {silent.toLocaleString("en")}
    </a>
  );
  return (
    <Card id="silent-head" title="Silent peels" beside={all} body="facts">
      {silentPeels.map(({ id, since }) => (
        <Fact key={id} name={since === undefined ? "never seen" : <Time at={since} now={now} />}>
          <a href={hrefOf(`/peels/${id}`)}>{id}</a>
        </Fact>
      ))}
    </Card>
  );
}
