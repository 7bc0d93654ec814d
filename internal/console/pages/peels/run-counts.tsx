import type { ListedPeel } from "../../api/mod.ts";
import { Shares } from "../../kit/shares.tsx";
import { Status } from "../../kit/status.tsx";
import { Duration } from "../../kit/time.tsx";

/** What a state run did, in numbers. */
export function RunCounts({ run }: { run: NonNullable<ListedPeel["last_run"]> }) {
  return (
    <div class="stack">
      <Shares
        label="States of the last run"
        shares={[
          { word: "as described", outcome: "ok", count: run.ok },
          { word: "changed", outcome: "changed", count: run.changed },
          { word: "would change", outcome: "running", count: run.would_change },
          { word: "skipped", outcome: "skipped", count: run.skipped },
          { word: "failed", outcome: "failed", count: run.failed },
        ]}
      />
      <dl class="facts">
        <dt>Status</dt>
        <dd>
          <Status word={run.status} />
        </dd>
        <dt>Because of</dt>
        <dd>
          {run.trigger}
          {run.test && ", only a test"}
        </dd>
        <dt>Files</dt>
        <dd class="mono">{[run.environment, run.commit.slice(0, 12)].filter(Boolean).join(" ") || "none"}</dd>
        <dt>Took</dt>
        <dd>
          <Duration ms={run.duration_ms} />
        </dd>
      </dl>
    </div>
  );
}
