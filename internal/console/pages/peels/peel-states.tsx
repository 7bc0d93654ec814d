import { StateCard } from "../../answers/mod.ts";
import { routes, useAnswer } from "../../api/mod.ts";
import { Card } from "../../kit/card.tsx";
import { Empty } from "../../kit/empty.tsx";
import { Problem } from "../../kit/problem.tsx";
import { RunCounts } from "./run-counts.tsx";
import type { ViewProps } from "./shown.ts";

/** The last state run of a peel, with its differences. */
export function PeelStates({ app, peel: { id } }: ViewProps) {
  const { value, problem } = useAnswer(app, routes.showStates, { id }, ["svc/compliance/"]);
  const run = value?.last_run;
  if (value !== undefined && run === undefined) {
    return (
      <Empty title="No state run yet" command={`svc run ${id} state.apply test=true`}>
        Try what its states would change. A run without test=true changes it.
      </Empty>
    );
  }
  return (
    <>
      <Problem problem={problem} />
      {run !== undefined && (
        <Card label="Last run" body="plain">
          <RunCounts run={run} />
        </Card>
      )}
      {value?.diffs?.map((state) => (
        <StateCard key={`${state.id} ${state.function}`} state={state} />
      ))}
      {value !== undefined && run !== undefined && value.diffs === undefined && (
        <p class="muted">
          {run.changed + run.failed + run.would_change === 0
            ? "Nothing differed from the description."
            : "Differences are kept for 7 days."}
        </p>
      )}
    </>
  );
}
