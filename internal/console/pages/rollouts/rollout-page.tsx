import { type App, routes, useAnswer } from "../../api/mod.ts";
import { Button } from "../../kit/button.tsx";
import { Card } from "../../kit/card.tsx";
import { Confirm } from "../../kit/confirm.tsx";
import { Empty } from "../../kit/empty.tsx";
import { Page } from "../../kit/page.tsx";
import { Problem } from "../../kit/problem.tsx";
import { hrefOf } from "../../kit/router.ts";
import { Status } from "../../kit/status.tsx";
import { useDialog } from "../../kit/use-dialog.ts";
import { DecisionOutlook, decide } from "../../outlook/mod.ts";
import { RolloutFacts } from "./rollout-facts.tsx";
import { WavePicture } from "./wave-picture.tsx";
import { WaveTable } from "./wave-table.tsx";
import type { ShownRollout } from "./waves.ts";

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

/** The commands that a rollout in this status accepts. */
const possible: Readonly<Record<string, readonly Action[]>> = {
  running: ["pause", "abort"],
  paused: ["resume", "abort"],
};

/** One rollout: its waves as a picture, its gate, and what can be done about it. */
export function RolloutPage({ app, id }: { app: App; id: string }) {
  const {
    value: rollout,
    problem,
    reload,
  } = useAnswer(app, routes.getRollout, { id }, [`svc/rollout/${id}/`, "svc/job/"]);
  const dialog = useDialog<Action>(reload);
  if (rollout === undefined) {
    return (
      <Page title="Rollout" up={{ to: "/rollouts", words: "Rollouts" }}>
        {problem?.status === 404 ? <NoRollout id={id} /> : <Problem problem={problem} />}
      </Page>
    );
  }
  const action = dialog.about;
  return (
    <Page
      {...{ title: rollout.function, mono: true }}
      tab={`${rollout.function} ${id}`}
      up={{ to: "/rollouts", words: "Rollouts" }}
      beside={
        <>
          <Status word={rollout.status} />
          <span class="muted number" role="status">
            wave {rollout.wave} of {rollout.waves.length}
          </span>
        </>
      }
      actions={offeredFor(rollout, app).map((one) => (
        <Button key={one} {...kindOf(one)} onClick={() => dialog.open(one)}>
          {texts[one].verb}
        </Button>
      ))}
    >
      <Problem problem={problem} />
      <Notices rollout={rollout} />
      <Card id="waves-head" title="Waves" body="plain">
        <WavePicture rollout={rollout} />
      </Card>
      <RolloutFacts app={app} rollout={rollout} />
      <WaveTable app={app} rollout={rollout} />
      {action !== undefined && (
        <ConfirmAction
          {...{ app, action, id, count: concernedBy(action, rollout) }}
          title={`${texts[action].verb} the rollout of ${rollout.function}?`}
          close={dialog.close}
        />
      )}
    </Page>
  );
}

const NoRollout = ({ id }: { id: string }) => (
  <Empty title={`The rollout ${id} does not exist`}>
    <a href={hrefOf("/rollouts")}>All rollouts</a>
  </Empty>
);

const offeredFor = ({ status, abort_asked_by }: ShownRollout, { session }: Pick<App, "session">) =>
  (possible[status] ?? []).filter(
    (action) => session.may("rollouts", action) && (action !== "abort" || abort_asked_by === undefined),
  );

/** To pause is a way back, and not what the page is for. */
const kindOf = (action: Action) =>
  action === "pause" ? {} : { kind: action === "abort" ? "danger" : "primary" };

/** How many hosts an action stops, or lets continue. */
function concernedBy(action: Action, { waves }: ShownRollout): number {
  const left = waves
    .filter(({ begun_at }) => begun_at === undefined)
    .reduce((sum, { peels }) => sum + peels.length, 0);
  if (action !== "abort") return left;
  const current = waves.find(({ begun_at, ended_at }) => begun_at !== undefined && ended_at === undefined);
  // Masters count a wave when it has ended: until then all of it may be running.
  const { peels = [], counts } = current ?? {};
  return left + (counts === undefined ? peels.length : (counts.pending ?? 0));
}

function Notices({ rollout }: { rollout: ShownRollout }) {
  const { reason, status, abort_asked_by: aborted, finished_at: end } = rollout;
  return (
    <>
      {reason !== undefined && <p class={status === "completed" ? "notice" : "notice failed"}>{reason}</p>}
      {aborted !== undefined && end === undefined && (
        <p class="notice">{aborted} aborted it: it ends when the job of its wave has ended.</p>
      )}
    </>
  );
}

function ConfirmAction(props: {
  app: App;
  action: Action;
  title: string;
  id: string;
  count: number;
  close(): void;
}) {
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
