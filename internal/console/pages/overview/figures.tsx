import type { ComponentChildren } from "preact";
import { Figure } from "./figure.tsx";
import type { JudgedMasters } from "./judge-masters.ts";
import type { PeelsSummary } from "./summary.ts";
import type { Overview } from "./use-overview.ts";

/** What the figures say: of each part that may be read, how much needs a look. */
export function Figures(props: {
  overview: Overview | undefined;
  peels: PeelsSummary | undefined;
  judged: JudgedMasters | undefined;
}) {
  const { overview, peels, judged } = props;
  return (
    <section class="figures" aria-label="Figures" aria-busy={overview === undefined}>
      {overview === undefined ? (
        <Figure label="Reading the fleet" value={undefined} />
      ) : (
        figuresOf(overview, peels)
      )}
      {judged !== undefined && <MastersFigure judged={judged} />}
    </section>
  );
}

function figuresOf(
  { pending, jobs, states, approvals, breakers }: Overview,
  peels: PeelsSummary | undefined,
): ComponentChildren {
  const having = (status: string) => jobs?.items.filter((job) => job.status === status).length;
  return (
    <>
      {peels !== undefined && (
        <>
          <Figure label="Peels alive" value={peels.alive} to="/peels?show=alive" />
          <Figure label="Peels silent" value={peels.silent} to="/peels?show=silent" outcome="offline" />
        </>
      )}
      {pending !== undefined && (
        <Figure
          label="Hosts waiting"
          value={pending.items.length}
          more={pending.next !== undefined}
          to="/enrollments"
          outcome="running"
        />
      )}
      {jobs !== undefined && (
        <>
          <Figure
            label="Jobs running"
            value={having("running")}
            to="/jobs?status=running"
            outcome="running"
          />
          <Figure
            {...{ label: "Jobs failed", value: having("failed"), more: jobs.more }}
            to="/jobs?status=failed"
            outcome="failed"
          >
            in 24 h
          </Figure>
        </>
      )}
      {states !== undefined && (
        <Figure
          label="Peels drifted"
          value={states.counts.drifted + states.counts.failed}
          to="/states"
          outcome="changed"
        >
          {states.counts.failed > 0 ? `${states.counts.failed} failed` : undefined}
        </Figure>
      )}
      {approvals !== undefined && (
        <Figure
          label="Requests waiting"
          value={approvals.approvals.filter(({ state }) => state === "waiting").length}
          to="/approvals"
          outcome="timeout"
        />
      )}
      {breakers !== undefined && (
        <Figure label="Breakers open" value={breakers.length} to="/reactor" outcome="failed" />
      )}
    </>
  );
}

function MastersFigure({ judged: { masters, ready } }: { judged: JudgedMasters }) {
  const missing = masters.length - ready;
  if (missing === 0) return <Figure label="Masters" value={masters.length} />;
  return (
    <Figure label="Masters" value={masters.length} outcome="failed">
      {`${missing} not ready`}
    </Figure>
  );
}
