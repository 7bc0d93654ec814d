import { standingOf } from "../../program/answers/mod.ts";
import { Card } from "../kit/card.tsx";
import { Diff } from "../kit/diff.tsx";
import type { Outcome } from "../kit/outcome.ts";
import { Status } from "../kit/status.tsx";

/** A state of a run, as far as it is shown. */
export interface ShownState {
  id: string;
  function: string;
  name?: string | undefined;
  /** Where it is declared: `web/init.sls:12` */
  at?: string | undefined;
  /** `null` in a test run for one that would change. */
  result: boolean | null;
  changes?: Readonly<Record<string, unknown>> | undefined;
  comment?: string | undefined;
  skipped?: string | undefined;
}

function standOf(state: ShownState): { word: string; outcome: Outcome } {
  const { result, changes = {}, skipped } = state;
  if (result === null) return { word: "would change", outcome: "running" };
  switch (standingOf({ result, changes: changes as Record<string, never>, skipped })) {
    case "FAILED":
      return { word: "failed", outcome: "failed" };
    case "skipped":
      return { word: "skipped", outcome: "skipped" };
    case "ok":
      return { word: "ok", outcome: "ok" };
    default:
      return { word: "changed", outcome: "changed" };
  }
}

/** A state with what it said and its differences. */
export function StateCard({ state }: { state: ShownState }) {
  const { id, function: name, at, comment = "", changes = {} } = state;
  return (
    <Card
      label={id}
      title={
        <>
          <Status {...standOf(state)} /> <span class="mono">{name}</span> {state.name ?? id}
        </>
      }
      beside={<span class="muted small mono">{at}</span>}
      body="stack"
    >
      {comment !== "" && <p class="muted wrap">{comment}</p>}
      <Diff of={id} changes={changes} />
    </Card>
  );
}
