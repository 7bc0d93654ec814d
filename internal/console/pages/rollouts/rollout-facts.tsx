import type { App } from "../../api/mod.ts";
import { Arguments } from "../../kit/arguments.tsx";
import { Status } from "../../kit/status.tsx";
import { Time } from "../../kit/time.tsx";
import type { ShownRollout } from "./waves.ts";

const steps: Readonly<Record<string, string>> = {
  ready: "the next wave can start",
  dispatching: "its job is being created",
  waiting: "its job runs",
  soaking: "it waits before it looks",
  asking: "the check is being created",
  checking: "the check runs",
};

/** What is asked for, and what the gate lets through. */
export function RolloutFacts({ app, rollout }: { app: App; rollout: ShownRollout }) {
  const { check, failures, max_failures: most, wave_wait: wait } = rollout;
  const isLive = rollout.status === "running" || rollout.status === "paused";
  return (
    <div class="grid">
      <section class="card" aria-labelledby="gate-head">
        <header>
          <h2 id="gate-head">Gate</h2>
          <Status
            word={failures > most ? "closed" : rollout.status === "paused" ? "held" : "open"}
            outcome={failures > most ? "failed" : rollout.status === "paused" ? "timeout" : "ok"}
          />
        </header>
        <dl class="body facts">
          <dt>Failures</dt>
          <dd class="number">
            {failures.toLocaleString("en")} of at most {most.toLocaleString("en")}
          </dd>
          <dt>Wait after a wave</dt>
          <dd>{wait === "0" || wait === "0ms" ? "none" : wait}</dd>
          <dt>Check</dt>
          <dd class="mono">{check === undefined ? "none" : check.function}</dd>
          <dt>No wave starts after</dt>
          <dd>
            <Time at={rollout.deadline} now={app.now} />
          </dd>
          {isLive && (
            <>
              <dt>Now</dt>
              <dd>
                {rollout.paused_by === undefined ? steps[rollout.step] : `paused by ${rollout.paused_by}`}
              </dd>
            </>
          )}
        </dl>
      </section>
      <section class="card" aria-labelledby="rollout-head">
        <header>
          <h2 id="rollout-head">Rollout</h2>
        </header>
        <dl class="body facts">
          <dt>Target</dt>
          <dd class="mono">{rollout.target ?? `a list of ${rollout.targets}`}</dd>
          <dt>Peels</dt>
          <dd class="number">{rollout.targets.toLocaleString("en")}</dd>
          <Arguments args={rollout.args} />
          <dt>By</dt>
          <dd>
            {rollout.created_by}, <Time at={rollout.created_at} now={app.now} />
            {rollout.approved_by !== undefined && `, with ${rollout.approved_by.join(", ")}`}
          </dd>
          <dt>Driven by</dt>
          <dd>{rollout.driver ?? "no master now"}</dd>
          <dt>ID</dt>
          <dd class="mono">{rollout.id}</dd>
        </dl>
      </section>
    </div>
  );
}
