import { useSignal } from "@preact/signals";
import { type App, routes, useQuery } from "../../api/mod.ts";
import { Confirm } from "../../kit/confirm.tsx";
import { Empty } from "../../kit/empty.tsx";
import { Problem } from "../../kit/problem.tsx";
import { hrefOf } from "../../kit/router.ts";
import { Status } from "../../kit/status.tsx";
import { DecisionOutlook, decide } from "../../outlook/mod.ts";
import { RolloutFacts } from "./rollout-facts.tsx";
import { WavePicture } from "./wave-picture.tsx";
import { WaveTable } from "./wave-table.tsx";

const actions = ["pause", "resume", "abort"] as const;
type Action = (typeof actions)[number];

const texts = {
  pause: {
    verb: "Pause",
    done: "Paused",
    waiting: "Pausing the rollout",
    means: "No further wave starts. The current wave runs to its end on its hosts.",
  },
  resume: {
    verb: "Resume",
    done: "Resumed",
    waiting: "Resuming the rollout",
    means: "The waves that have not started run, one after the other, as long as the gate lets them.",
  },
  abort: {
    verb: "Abort",
    done: "Aborted",
    waiting: "Aborting the rollout",
    means:
      "The rollout ends: no further wave starts, and the job of the current wave is cancelled. What ran already stays as it is. This cannot be taken back.",
  },
} as const;

/** What a rollout in this status can be told. */
const possible: Readonly<Record<string, readonly Action[]>> = {
  running: ["pause", "abort"],
  paused: ["resume", "abort"],
};

/** One rollout: its waves as a picture, its gate, and what can be done about it. */
export function RolloutPage({ app, id }: { app: App; id: string }) {
  const asking = useSignal<Action | undefined>(undefined);
  const {
    value: rollout,
    problem,
    reload,
  } = useQuery(app, id, (signal) => app.client.call(routes.getRollout, { id }, signal), [
    `svc/rollout/${id}/`,
    "svc/job/",
  ]);
  if (rollout === undefined) {
    return (
      <div class="page">
        <header class="page-head">
          <h1>Rollout</h1>
        </header>
        {problem?.status === 404 ? (
          <Empty title={`The rollout ${id} does not exist`}>
            <a href={hrefOf("/rollouts")}>All rollouts</a>
          </Empty>
        ) : (
          <Problem problem={problem} />
        )}
      </div>
    );
  }
  const offered = (possible[rollout.status] ?? []).filter(
    (action) =>
      app.session.may("rollouts", action) && (action !== "abort" || rollout.abort_asked_by === undefined),
  );
  const left = rollout.waves
    .filter(({ begun_at }) => begun_at === undefined)
    .reduce((sum, { peels }) => sum + peels.length, 0);
  const current = rollout.waves.find(
    ({ begun_at, ended_at }) => begun_at !== undefined && ended_at === undefined,
  );
  // Those that it stops, or lets go on. Masters count a wave when it has ended: until then all of it may be running.
  const running =
    current?.counts === undefined ? (current?.peels.length ?? 0) : (current.counts.pending ?? 0);
  const concerned = asking.value === "abort" ? left + running : left;
  return (
    <div class="page">
      <header class="page-head">
        <h1 class="mono">{rollout.function}</h1>
        <Status word={rollout.status} />
        <span class="muted number" role="status">
          wave {rollout.wave} of {rollout.waves.length}
        </span>
        <div class="actions">
          {offered.map((action) => (
            <button
              key={action}
              type="button"
              class={action === "abort" ? "button danger" : "button primary"}
              onClick={() => {
                asking.value = action;
              }}
            >
              {texts[action].verb}
            </button>
          ))}
        </div>
      </header>
      <Problem problem={problem} />
      {rollout.reason !== undefined && (
        <p class={rollout.status === "completed" ? "notice" : "notice failed"}>{rollout.reason}</p>
      )}
      {rollout.abort_asked_by !== undefined && rollout.finished_at === undefined && (
        <p class="notice">{rollout.abort_asked_by} aborted it: it ends when the job of its wave has ended.</p>
      )}
      <section class="card" aria-labelledby="waves-head">
        <header>
          <h2 id="waves-head">Waves</h2>
        </header>
        <div class="body">
          <WavePicture rollout={rollout} />
        </div>
      </section>
      <RolloutFacts app={app} rollout={rollout} />
      <WaveTable app={app} rollout={rollout} />
      {asking.value !== undefined && (
        <Ask
          app={app}
          action={asking.value}
          title={`${texts[asking.value].verb} the rollout of ${rollout.function}?`}
          id={id}
          count={concerned}
          close={() => {
            asking.value = undefined;
            reload();
          }}
        />
      )}
    </div>
  );
}

function Ask(props: { app: App; action: Action; title: string; id: string; count: number; close(): void }) {
  const { app, action, title, id, count, close } = props;
  const { verb, means, done, waiting } = texts[action];
  const route = { pause: routes.pauseRollout, resume: routes.resumeRollout, abort: routes.abortRollout }[
    action
  ];
  return (
    <Confirm
      title={title}
      verb={verb}
      // A pause is taken back by a click: it must not wait for a number.
      count={action === "pause" ? 1 : count}
      danger={action === "abort"}
      close={close}
      act={() => decide(app, { done, waiting }, () => app.client.call(route, { id }))}
    >
      <p>{means}</p>
      <p class="number">
        {count === 1 ? "1 host" : `${count.toLocaleString("en")} hosts`} of this rollout{" "}
        {count === 1 ? "has" : "have"} not run it to the end.
      </p>
      <DecisionOutlook app={app} question={{ kind: "rollouts", action, id }} />
    </Confirm>
  );
}
