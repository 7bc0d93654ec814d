import { contentWords } from "../../../wire/content-words.ts";
import type { ListedPeel } from "../../api/mod.ts";
import { Fact } from "../../kit/fact.tsx";
import { Shares } from "../../kit/shares.tsx";
import { Status } from "../../kit/status.tsx";
import { Duration } from "../../kit/time.tsx";

const triggers: Readonly<Record<string, string>> = {
  job: "a job",
  schedule: "its schedule",
  startup: "the start of the peel",
  call: "a person on the host",
};

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
        <Fact name="Status">
          <Status word={run.status} />
        </Fact>
        <Fact name="Started by">
          {Object.hasOwn(triggers, run.trigger) ? triggers[run.trigger] : run.trigger}
          {run.test && ", as a test that changed nothing"}
        </Fact>
        <Fact name="Files" as="mono" value={run.environment === "" ? "none" : contentWords(run)} />
        <Fact name="Took">
          <Duration ms={run.duration_ms} />
        </Fact>
      </dl>
    </div>
  );
}
