import { routes, useAnswer } from "../../api/mod.ts";
import { Card } from "../../kit/card.tsx";
import { Diff } from "../../kit/diff.tsx";
import { Empty } from "../../kit/empty.tsx";
import { Problem } from "../../kit/problem.tsx";
import { Status } from "../../kit/status.tsx";
import { RunCounts } from "./run-counts.tsx";
import type { ViewProps } from "./shown.ts";

const outcomeOf = (result: boolean | null) =>
  result === false
    ? ({ word: "failed", outcome: "failed" } as const)
    : result === null
      ? ({ word: "would change", outcome: "running" } as const)
      : ({ word: "changed", outcome: "changed" } as const);

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
        <Card
          key={`${state.id} ${state.function}`}
          label={state.id}
          title={
            <>
              <Status {...outcomeOf(state.result)} /> <span class="mono">{state.function}</span> {state.name}
            </>
          }
          beside={<span class="muted small mono">{state.at}</span>}
          body="stack"
        >
          <p class="muted">{state.comment}</p>
          <Diff of={state.id} changes={state.changes} />
        </Card>
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
