import { useMemo } from "preact/hooks";
import type { App, ConsolePage } from "../../api/mod.ts";
import { Empty } from "../../kit/empty.tsx";
import { Page } from "../../kit/page.tsx";
import { Problem } from "../../kit/problem.tsx";
import type { Place } from "../../kit/router.ts";
import { FleetCurves } from "./curves.tsx";
import { Figures } from "./figures.tsx";
import { Hosts, Kinds } from "./hosts.tsx";
import { judgeMasters } from "./judge-masters.ts";
import { LatestJobs } from "./latest-jobs.tsx";
import { Masters } from "./masters.tsx";
import { summarize } from "./summary.ts";
import { findTrouble } from "./trouble.ts";
import { TroubleList } from "./trouble-list.tsx";
import { useOverview } from "./use-overview.ts";

export const overviewPage: ConsolePage = {
  name: "Overview",
  path: "/overview",
  key: "o",
  // It shows of everything what may be read.
  may: () => true,
  View: Overview,
};

/** How the fleet is, on one page: what is wrong now, how it was, and every host. */
function Overview({ app, place }: { app: App; place: Place }) {
  const { value, problem } = useOverview(app);
  const now = app.now.value;
  const listed = value?.peels?.items;
  const peels = useMemo(() => listed && summarize(listed, now), [listed, now]);
  const jobs = value?.jobs?.items ?? [];
  const judged = value?.masters === undefined ? undefined : judgeMasters(value.masters);
  const isEmpty = listed?.length === 0 && value?.pending?.items.length === 0;
  return (
    <Page title="Overview">
      <Problem problem={problem} />
      {value !== undefined && <TroubleList troubles={findTrouble(value, { peels, judged, now })} />}
      <Figures {...{ overview: value, peels, judged }} />
      {isEmpty && <NoHosts />}
      {app.session.may("masters", "read") && <FleetCurves app={app} place={place} />}
      {listed !== undefined && listed.length > 0 && (
        <>
          <Hosts peels={listed} />
          <Kinds peels={listed} />
        </>
      )}
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
