import { contentWords, releasedWords } from "../../../wire/content-words.ts";
import type { App } from "../../api/mod.ts";
import { Arguments } from "../../kit/arguments.tsx";
import { Card } from "../../kit/card.tsx";
import { Fact } from "../../kit/fact.tsx";
import { Status } from "../../kit/status.tsx";
import { Time } from "../../kit/time.tsx";
import { took } from "../../kit/times.ts";
import { failureWords, gateAt, type ShownRollout } from "./waves.ts";

const steps: Readonly<Record<string, string>> = {
  ready: "the next wave starts",
  dispatching: "the job of the wave is being created",
  waiting:
    "the job of the wave runs; the wave ends when all of its hosts have answered, or at their time limit",
  soaking: "the wave has ended, and the rollout waits",
  asking: "the check of the wave is being created",
  checking: "the check of the wave runs",
};

/** What is asked for, and what the gate lets through. */
export function RolloutFacts({ app, rollout }: { app: App; rollout: ShownRollout }) {
  return (
    <div class="grid">
      <Gate now={app.now} rollout={rollout} />
      <Card id="rollout-head" title="Rollout" body="facts">
        <Fact name="Target" as="mono" value={rollout.target ?? `a list of ${rollout.targets}`} />
        <Fact name="Peels" as="number" value={rollout.targets.toLocaleString("en")} />
        <Arguments args={rollout.args} />
        <Fact name="Files" value={rollout.content && contentWords(rollout.content)} />
        <Fact name="Released files" value={rollout.released && releasedWords(rollout.released)} />
        <Fact name="By">
          {rollout.created_by}, <Time at={rollout.created_at} now={app.now} />
          {rollout.approved_by !== undefined && `, with ${rollout.approved_by.join(", ")}`}
        </Fact>
        <Fact name="Driven by">{rollout.driver ?? "no master now"}</Fact>
        <Fact name="ID" as="mono" value={rollout.id} />
      </Card>
    </div>
  );
}

function Gate({ now, rollout }: { rollout: ShownRollout } & Pick<App, "now">) {
  const { check, failures, max_failures: max, wave_wait: wait, status } = rollout;
  const isLive = status === "running" || status === "paused";
  return (
    <Card id="gate-head" title="Gate" beside={<Status {...gateOf(rollout)} />} body="facts">
      <Fact name="Now">{isLive && <Position rollout={rollout} now={now} />}</Fact>
      <Fact name="Failures" as="number">
        {failureWords(failures, max)}
      </Fact>
      <Fact name="Wait after a wave">{wait === "0" || wait === "0ms" ? "none" : wait}</Fact>
      <Fact name="Check" as="mono" value={check === undefined ? "none" : check.function} />
      <Fact name="No wave starts after">
        <Time at={rollout.deadline} now={now} />
      </Fact>
    </Card>
  );
}

/** What it does at this moment, and for how long it still waits. */
function Position({ rollout, now }: { rollout: ShownRollout } & Pick<App, "now">) {
  const { paused_by: by, paused_because: why, step, check, wave, waves } = rollout;
  const at = gateAt(rollout);
  if (why !== undefined) return <>paused: {why}</>;
  if (by !== undefined) return <>paused by {by}</>;
  if (at === undefined) return <>{steps[step]}</>;
  const isLast = wave >= waves.length;
  const next =
    check !== undefined
      ? `${check.function} checks its hosts`
      : isLast
        ? "the rollout ends"
        : `wave ${wave + 1} starts`;
  const leftMs = at - now.value;
  return (
    <span class="number">
      {leftMs > 0
        ? `wave ${wave} has ended; ${next} in ${took(Math.ceil(leftMs / 1_000) * 1_000)}`
        : `${next} now`}
    </span>
  );
}

function gateOf({ failures, max_failures: max, status }: ShownRollout) {
  if (failures > max) return { word: "closed", outcome: "failed" } as const;
  if (status === "paused") return { word: "held", outcome: "timeout" } as const;
  return { word: "open", outcome: "ok" } as const;
}
