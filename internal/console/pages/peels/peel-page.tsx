import { type App, type ListedPeel, routes, useAnswer } from "../../api/mod.ts";
import { Button, LinkButton } from "../../kit/button.tsx";
import { Choices } from "../../kit/choices.tsx";
import { Empty } from "../../kit/empty.tsx";
import { Page } from "../../kit/page.tsx";
import { Problem } from "../../kit/problem.tsx";
import { hrefOf } from "../../kit/router.ts";
import { Status } from "../../kit/status.tsx";
import { Since } from "../../kit/time.tsx";
import { useDialog } from "../../kit/use-dialog.ts";
import { PeelEvents } from "./peel-events.tsx";
import { PeelFacts } from "./peel-facts.tsx";
import { PeelJobs } from "./peel-jobs.tsx";
import { PeelSettings } from "./peel-settings.tsx";
import { PeelStates } from "./peel-states.tsx";
import { PeelSummary } from "./peel-summary.tsx";
import { PeelTimeline } from "./peel-timeline.tsx";
import { RevokePeels } from "./revoke-peels.tsx";
import type { ViewProps } from "./shown.ts";

/** What is shown of one peel, each at an address of its own. */
const views = [
  { path: "", title: "Summary", kind: "facts", action: "read", View: PeelSummary },
  { path: "facts", title: "Facts", kind: "facts", action: "read", View: PeelFacts },
  { path: "settings", title: "Settings", kind: "settings", action: "render", View: PeelSettings },
  { path: "states", title: "States", kind: "states", action: "read", View: PeelStates },
  { path: "jobs", title: "Jobs", kind: "jobs", action: "list", View: PeelJobs },
  { path: "timeline", title: "Timeline", kind: "facts", action: "read", View: PeelTimeline },
  { path: "events", title: "Events", kind: "events", action: "read", View: PeelEvents },
] as const;

/** One peel in full. */
export function PeelPage({ app, id, view }: { app: App; id: string; view: string }) {
  const {
    value: peel,
    problem,
    reload,
  } = useAnswer(app, routes.showPeel, { id }, [
    "svc/peel/",
    "svc/enrollment/",
    "svc/compliance/",
    "svc/job/",
  ]);
  const revoking = useDialog(reload);
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
  const choices = offered.map(({ path, title }) => ({
    to: path === "" ? `/peels/${id}` : `/peels/${id}/${path}`,
    words: title,
    isHere: path === view,
  }));
  return (
    <Page
      title={peel?.id ?? id}
      up={{ to: "/peels", words: "Peels" }}
      beside={peel !== undefined && <Liveness peel={peel} now={app.now} />}
      actions={peel !== undefined && <PeelActions app={app} peel={peel} revoke={() => revoking.open(true)} />}
    >
      <Choices as="tabs" label={`Views of ${id}`} choices={choices} />
      <Problem problem={problem} />
      {peel !== undefined && shown !== undefined && <shown.View app={app} peel={peel} />}
      {shown === undefined && <Empty title="Your roles do not include this view, or there is none" />}
      {revoking.about && peel !== undefined && (
        <RevokePeels app={app} peels={[peel]} close={revoking.close} />
      )}
    </Page>
  );
}

function Liveness({ peel, now }: { peel: ListedPeel } & Pick<App, "now">) {
  const since = peel.alive_since ?? peel.silent_since;
  return (
    <span>
      <Status word={peel.alive ? "alive" : "silent"} />{" "}
      <span class="muted">{since !== undefined && <Since at={since} now={now} />}</span>
    </span>
  );
}

function PeelActions({ app: { session }, peel, revoke }: ViewProps & { revoke(): void }) {
  return (
    <>
      {session.may("jobs", "run") && (
        <LinkButton to={`/jobs/new?target=${encodeURIComponent(peel.id)}`}>Run a job</LinkButton>
      )}
      {session.may("enrollments", "revoke") && (
        <Button kind="danger" onClick={revoke}>
          Revoke
        </Button>
      )}
    </>
  );
}
