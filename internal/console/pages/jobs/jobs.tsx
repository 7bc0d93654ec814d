import type { App, ConsolePage } from "../../api/mod.ts";
import { NotOffered } from "../../kit/not-offered.tsx";
import type { Place } from "../../kit/router.ts";
import { JobList } from "./job-list.tsx";
import { JobPage } from "./job-page.tsx";
import { NewJob } from "./new-job.tsx";
import { ReturnPage } from "./return-page.tsx";

export const jobsPage: ConsolePage = {
  name: "Jobs",
  path: "/jobs",
  key: "j",
  may: (session) => session.may("jobs", "list"),
  View: Jobs,
};

/** The list, `/jobs/new`, one job `/jobs/<jid>`, and what one peel returned `/jobs/<jid>/<peel>`. */
function Jobs({ app, place }: { app: App; place: Place }) {
  const [, , jid, peel] = place.path.split("/");
  if (jid === undefined) return <JobList app={app} place={place} />;
  if (jid === "new") {
    return app.session.may("jobs", "run") ? (
      <NewJob app={app} place={place} />
    ) : (
      <NotOffered title="New job" what="running jobs" />
    );
  }
  if (peel === undefined) return <JobPage key={jid} app={app} jid={jid} place={place} />;
  return <ReturnPage key={place.path} app={app} jid={jid} peel={peel} />;
}
