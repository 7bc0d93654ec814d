import { useSignal } from "@preact/signals";
import { type App, routes, useQuery } from "../../api/mod.ts";
import { Empty } from "../../kit/empty.tsx";
import { Problem } from "../../kit/problem.tsx";
import { hrefOf } from "../../kit/router.ts";
import { Status } from "../../kit/status.tsx";
import { Since } from "../../kit/time.tsx";
import { PeelEvents } from "./peel-events.tsx";
import { PeelFacts } from "./peel-facts.tsx";
import { PeelJobs } from "./peel-jobs.tsx";
import { PeelSettings } from "./peel-settings.tsx";
import { PeelStates } from "./peel-states.tsx";
import { PeelSummary } from "./peel-summary.tsx";
import { RevokePeel } from "./revoke-peel.tsx";

/** What is shown of one peel, each at an address of its own. */
const views = [
  { path: "", title: "Summary", kind: "facts", action: "read", View: PeelSummary },
  { path: "facts", title: "Facts", kind: "facts", action: "read", View: PeelFacts },
  { path: "settings", title: "Settings", kind: "settings", action: "render", View: PeelSettings },
  { path: "states", title: "States", kind: "states", action: "read", View: PeelStates },
  { path: "jobs", title: "Jobs", kind: "jobs", action: "list", View: PeelJobs },
  { path: "events", title: "Events", kind: "events", action: "read", View: PeelEvents },
] as const;

/** One peel in full. */
export function PeelPage({ app, id, view }: { app: App; id: string; view: string }) {
  const revoking = useSignal(false);
  const {
    value: peel,
    problem,
    reload,
  } = useQuery(app, id, (signal) => app.client.call(routes.showPeel, { id }, signal), [
    "svc/peel/",
    "svc/enrollment/",
    "svc/compliance/",
    "svc/job/",
  ]);
  const offered = views.filter(({ kind, action }) => app.session.may(kind, action));
  const shown = offered.find(({ path }) => path === view);
  // Also while its page is open: what was read before is not true any more.
  if (problem?.status === 404) {
    return (
      <Empty whole title={`The peel ${id} does not exist`}>
        {problem.message} <a href={hrefOf("/peels")}>All peels</a>
      </Empty>
    );
  }
  const since = peel?.alive_since ?? peel?.silent_since;
  return (
    <div class="page">
      <header class="page-head">
        <h1>{peel?.id ?? id}</h1>
        {peel !== undefined && (
          <span>
            <Status word={peel.alive ? "alive" : "silent"} />{" "}
            <span class="muted">{since !== undefined && <Since at={since} now={app.now} />}</span>
          </span>
        )}
        <div class="actions">
          {peel !== undefined && app.session.may("jobs", "run") && (
            <a class="button" href={hrefOf(`/jobs/new?target=${encodeURIComponent(peel.id)}`)}>
              Run a job
            </a>
          )}
          {peel !== undefined && app.session.may("enrollments", "revoke") && (
            <button
              type="button"
              class="button danger"
              onClick={() => {
                revoking.value = true;
              }}
            >
              Revoke
            </button>
          )}
        </div>
      </header>
      <nav class="tabs" aria-label={`Views of ${id}`}>
        {offered.map(({ path, title }) => (
          <a
            key={path}
            href={hrefOf(path === "" ? `/peels/${id}` : `/peels/${id}/${path}`)}
            {...(path === view ? { "aria-current": "page" } : {})}
          >
            {title}
          </a>
        ))}
      </nav>
      <Problem problem={problem} />
      {peel !== undefined && shown !== undefined && <shown.View app={app} peel={peel} />}
      {shown === undefined && <Empty title="Your roles do not include this view, or there is none" />}
      {revoking.value && peel !== undefined && (
        <RevokePeel
          app={app}
          peel={peel}
          close={() => {
            revoking.value = false;
            reload();
          }}
        />
      )}
    </div>
  );
}
